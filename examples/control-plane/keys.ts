// The reader's keys, where there is a terminal to press them on.

/** Calls what is bound to each key that is pressed; Ctrl-C becomes the signal that a raw terminal no longer sends. */
export function listenToKeys(bound: Readonly<Record<string, () => void>>): () => void {
  const { stdin } = process
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  stdin.on('data', (pressed: string) => {
    for (const key of pressed) {
      if (key === '\x03') process.kill(process.pid, 'SIGINT')
      bound[key.toLowerCase()]?.()
    }
  })
  return () => {
    stdin.setRawMode(false)
    stdin.pause()
  }
}
