/** How long to wait before something that ended is started again. */
const FIRST_MS = 250;
const LONGEST_MS = 8000;
const ATTEMPTS = 6;
/** What ran so long was well: counting begins anew. */
const WELL_MS = 60_000;

export class Backoff {
  private attempts = 0;
  private last = Number.NEGATIVE_INFINITY;

  /** Milliseconds; undefined where it ended too often in a row. */
  next(now: number): number | undefined {
    if (now - this.last > WELL_MS) this.attempts = 0;
    this.last = now;
    this.attempts += 1;
    return this.attempts > ATTEMPTS ? undefined : Math.min(LONGEST_MS, FIRST_MS * 2 ** (this.attempts - 1));
  }
}
