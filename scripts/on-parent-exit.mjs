// `npm test` and `npm start` run a script under a shell. A signal to npm ends npm and that shell, but reaches no script,
// which would run on. So a script under npm treats the exit of its parent as a SIGTERM.

/** @param {() => void} end called once, when npm has ended */
export function onParentExit(end) {
  if (!process.env.npm_lifecycle_event) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    end()
  }, 250)
  timer.unref()
}
