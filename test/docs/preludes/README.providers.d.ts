// What the README imports from './providers.ts'.
export declare function backUp(ids: readonly bigint[], signal: AbortSignal): Promise<readonly bigint[]>
export declare function sendMail(to: string, idempotencyKey: string): Promise<void>
export declare function buildReport(at: Date, signal: AbortSignal): Promise<void>
