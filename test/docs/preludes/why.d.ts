// Names that the fragments of docs/why.md use.
declare const app: import('regrow').App
declare const operate: typeof import('regrow/operate').operate
