/** Symbol.asyncDispose, which the first versions of Node 20 do not have. */
export const asyncDispose: typeof Symbol.asyncDispose = (Symbol as { asyncDispose?: symbol }).asyncDispose as typeof Symbol.asyncDispose
  ?? Symbol.for('nodejs.asyncDispose');
