// `app.on`: a listener of an event that there is none of would wait for ever, and look as if all were well.
import { RegrowError } from '../base/errors.ts'
import type { Events } from '../base/events.ts'
import { shown } from '../base/options.ts'
import { nearest } from '../base/suggest.ts'
import { type EventMap, eventNames } from '../job/event-map.ts'

/** `on` of these events; throws `bad_options` for a name or a listener that is none. */
export const listening =
  (events: Events<EventMap>): Events<EventMap>['on'] =>
  (name, listener) => {
    if (name !== '*' && !(eventNames as readonly unknown[]).includes(name)) {
      const guess = typeof name === 'string' ? nearest(name, eventNames) : undefined
      throw new RegrowError(
        'bad_options',
        `on(): there is no event ${shown(name)}${guess ? `; did you mean "${guess}"?` : ''}`,
        `Events are '*' and: ${eventNames.join(', ')}.`,
      )
    }
    if (typeof listener !== 'function')
      throw new RegrowError(
        'bad_options',
        `on(): the listener of "${name}" is ${shown(listener)}; expected a function`,
        `Write app.on('${name}', (detail) => …).`,
      )
    return events.on(name, listener)
  }
