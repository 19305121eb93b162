// Names that the fragments of docs/failures.md use.
declare const app: import('regrow').App
declare const operate: typeof import('regrow/operate').operate
