// `npm test` and `npm start` run us under a shell. A signal to npm ends npm and that shell, but is not passed on: we
// would go on without anybody to end us. So under npm the loss of the parent counts as a SIGTERM.

/** @param {() => void} end called once, when npm has gone away */
export function whenOrphaned(end) {
  if (!process.env.npm_lifecycle_event) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    end()
  }, 250)
  timer.unref()
}
