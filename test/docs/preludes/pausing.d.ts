// Names that the fragments of docs/pausing.md use.
declare const app: import('regrow').App
