// A connection: commands go out in any number, replies come back in their order, and pushes between them.

import * as net from 'node:net';
import * as tls from 'node:tls';
import { Gate, Timer } from './clock.js';
import { BrokenError, NoAnswerError, ReplyError } from './errors.js';
import { Decoder, encode, exactTexts, Push, type Raw, type Reply, type Word } from './resp.js';

/** Where a server listens: a port of a host, or a unix socket. */
export interface Endpoint {
  host?: string;
  port?: number;
  path?: string;
}

/** What a connection is opened with. */
export interface Opening {
  endpoint: Endpoint;
  tls?: tls.ConnectionOptions | undefined;
  /** Further options of net.connect: family, lookup, localAddress. */
  socket?: Partial<net.TcpNetConnectOpts> | undefined;
  username?: string | undefined;
  password?: string | undefined;
  database?: number | undefined;
  /** The name of the connection, which operators see. */
  name?: string | undefined;
  /** Hears what the server says without a request. */
  told?: ((wire: Wire, push: Push) => void) | undefined;
}

/** Takes the reply to a command, or the error. The error is a ReplyError, or that of the connection. */
export type Take = (error: Error | undefined, reply: Raw) => void;

export class Wire {
  /** Why the connection is of no use any more. */
  error: Error | undefined;
  /** Opens when the connection is of no use any more. */
  readonly broke = new Gate();
  readonly endpoint: Endpoint;
  private awaited: Take[] = [];
  private first = 0; // of awaited: those before are done
  private corked = false;
  private left: Error | undefined; // why it is closed when all commands have their answers
  private readonly decoder: Decoder;

  private constructor(private readonly tcp: net.Socket, private readonly socket: net.Socket, opening: Opening) {
    this.endpoint = opening.endpoint;
    this.decoder = new Decoder((reply) => {
      if (reply instanceof Push) opening.told?.(this, reply);
      else this.answer(reply);
    });
    socket.on('data', (piece: Buffer) => {
      try {
        this.decoder.feed(piece);
      } catch (error) {
        this.close(new BrokenError(error));
      }
    });
    const end = (error?: Error) => this.close(new BrokenError(error));
    for (const s of new Set([tcp, socket])) s.on('error', end).on('end', () => end()).on('close', () => end());
  }

  /**
   * Opens a connection and logs in, within `limit` milliseconds. Errors: NoAnswerError, BrokenError, ReplyError
   * (the login was refused).
   */
  static async open(opening: Opening, limit: number): Promise<Wire> {
    const { host = '127.0.0.1', port = 6379, path } = opening.endpoint;
    const tcp = path === undefined
      ? net.connect({ ...opening.socket, host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 })
      : net.connect({ path });
    let socket: net.Socket = tcp;
    if (opening.tls) {
      const named = net.isIP(host) ? {} : { servername: host };
      socket = tls.connect({ ...named, ...opening.tls, socket: tcp });
    }
    const wire = new Wire(tcp, socket, opening);
    const timer = new Timer(limit, () => wire.close(new NoAnswerError()), true);
    try {
      await wire.login(opening);
      return wire;
    } catch (error) {
      wire.close(error as Error);
      throw error;
    } finally {
      timer.stop();
    }
  }

  private async login({ username, password, database, name }: Opening): Promise<void> {
    const hello: Word[] = ['HELLO', 3];
    if (password) hello.push('AUTH', username || 'default', password);
    if (name) hello.push('SETNAME', name);
    const first = this.call(hello);
    if (database) {
      first.catch(() => {});
      await this.call(['SELECT', database]).catch(async (error: unknown) => {
        await first; // its error says more
        throw error;
      });
    }
    await first;
  }

  private answer(reply: Raw): void {
    const take = this.awaited[this.first];
    if (!take) {
      this.close(new BrokenError(new Error('a reply without a request')));
      return;
    }
    this.awaited[this.first++] = undefined as unknown as Take;
    if (this.first === this.awaited.length || (this.first > 1024 && this.first * 2 > this.awaited.length)) {
      this.awaited = this.awaited.slice(this.first);
      this.first = 0;
    }
    if (reply instanceof ReplyError) take(reply, null);
    else take(undefined, reply);
    if (this.left && this.first === this.awaited.length) this.close(this.left);
  }

  /** Ends the connection as soon as the commands that were sent have their answers. */
  leave(why: Error): void {
    this.left = why;
    if (this.first === this.awaited.length) this.close(why);
  }

  /** Sends a command. `take` is called with its answer in any case, and never before send() has returned. */
  send(words: readonly Word[], take: Take): void {
    if (this.error) {
      const error = this.error;
      queueMicrotask(() => take(error, null));
      return;
    }
    this.awaited.push(take);
    if (!this.corked) {
      this.corked = true;
      this.socket.cork();
      process.nextTick(() => {
        this.corked = false;
        this.socket.uncork();
      });
    }
    this.socket.write(encode(words));
  }

  /**
   * Sends a command and resolves to its reply, with bytes as exactText. If the limit (milliseconds) is over first, the
   * connection is closed: the server gives up what it was doing for it.
   */
  async call(words: readonly Word[], limit?: number): Promise<Reply> {
    return exactTexts(await this.raw(words, limit));
  }

  /** call() with bytes as Buffers. */
  raw(words: readonly Word[], limit?: number): Promise<Raw> {
    return new Promise((resolve, reject) => {
      const timer = limit === undefined ? undefined : new Timer(limit, () => this.close(new NoAnswerError()), true);
      this.send(words, (error, reply) => {
        timer?.stop();
        if (error) reject(error);
        else resolve(reply);
      });
    });
  }

  /** Ends the connection, and every wait for a reply. What the server has not read, it is not to read later. */
  close(why: Error): void {
    if (this.error) return;
    this.error = why;
    // resetAndDestroy() would wait until all is written. While a shutdown is under way a reset fails, and the handle
    // would never be closed. A unix socket has no reset: it would stay open as well.
    const { tcp, socket } = this;
    if (tcp === socket && this.endpoint.path === undefined && !tcp.connecting && !tcp.readableEnded && !tcp.writableEnded) {
      (tcp as { resetAndClosing?: boolean }).resetAndClosing = true;
    }
    tcp.destroy();
    socket.destroy();
    const awaited = this.awaited.slice(this.first);
    this.awaited = [];
    this.first = 0;
    queueMicrotask(() => {
      for (const take of awaited) take(why, null);
    });
    this.broke.fire();
  }
}
