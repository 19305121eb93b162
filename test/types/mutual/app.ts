// The app that both files of this folder declare their jobs on.
import { regrow } from 'regrow'
import { pglite } from 'regrow/pglite'

export const app = regrow({ store: pglite() })
