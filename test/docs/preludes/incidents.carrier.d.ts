export declare const carrier: { book(id: number, options: { idempotencyKey: string }): Promise<void> }
