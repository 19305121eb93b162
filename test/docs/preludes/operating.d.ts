// Names that the fragments of docs/operating.md use.
declare const app: import('regrow').App
