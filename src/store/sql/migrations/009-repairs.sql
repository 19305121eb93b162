-- What it takes to name rows that can never run, to free a worker by its own lease, and to keep schedules as they were left.

-- Rows whose key cannot be a key (sweep).

-- Workers and time (lease, clock).

-- Schedules.

-- Intents.
