// Time as this package sees it: milliseconds that never go back, and timers that know when they are late.

/** The longest time that a timer of Node can have. */
const LONGEST = 2 ** 31 - 1;

/** How late a timer is when the process was stopped or busy: what has arrived meanwhile is read first. */
const LATE = 100;

/** How long arrived data may take to be read. */
const GRACE = 250;

/** Returns milliseconds since some moment. */
export function now(): number {
  return performance.now();
}

/** A timer that calls back once, at a moment that may be farther away than Node's own timers reach. */
export class Timer {
  private handle: NodeJS.Timeout | undefined;

  /**
   * @param ms from now
   * @param patient if the timer is late, what has arrived meanwhile is read before `call`
   */
  constructor(ms: number, private readonly call: () => void, private readonly patient = false) {
    this.set(now() + ms);
  }

  private set(due: number): void {
    const left = Math.max(0, due - now());
    this.handle = setTimeout(() => {
      this.handle = undefined;
      const late = now() - due;
      if (late < 0) this.set(due);
      else if (this.patient && late > LATE) this.handle = setTimeout(this.call, GRACE);
      else this.call();
    }, Math.min(Math.ceil(left), LONGEST));
  }

  /** Ends the timer; it does nothing once it has called. */
  stop(): void {
    clearTimeout(this.handle);
    this.handle = undefined;
  }
}

/** Something that happens once. Unlike a promise it keeps nothing of those who have stopped listening. */
export class Gate {
  open = false;
  private readonly listeners = new Set<() => void>();

  fire(): void {
    this.open = true;
    for (const call of [...this.listeners]) call();
    this.listeners.clear();
  }

  /** Calls back when it happens, at once if it has. */
  listen(call: () => void): void {
    if (this.open) call();
    else this.listeners.add(call);
  }

  forget(call: () => void): void { this.listeners.delete(call); }
}

/** Resolves after so many milliseconds, or as soon as one of the gates opens. */
export function rest(ms: number, ...gates: Gate[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      timer.stop();
      for (const gate of gates) gate.forget(end);
      resolve();
    };
    const timer = new Timer(ms, end);
    for (const gate of gates) gate.listen(end);
  });
}

/** A promise with its ends. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {}); // it may be that no caller awaits it
  return { promise, resolve, reject };
}
