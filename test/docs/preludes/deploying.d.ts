// Names that the fragments of docs/deploying.md use.
declare const worker: import('regrow').WorkerHandle
declare const app: import('regrow').App
