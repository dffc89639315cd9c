declare module 'autocannon' {
  /** The part of a load generator's interface that the benchmarks use. */
  interface Request {
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string;
  }

  interface Options {
    url: string;
    connections: number;
    /** Seconds. */
    duration: number;
    /** Seconds. */
    timeout: number;
    requests: { setupRequest(defaults: object): Request }[];
  }

  interface Run extends PromiseLike<{ errors: number; timeouts: number }> {
    on(
      event: 'response',
      listener: (client: unknown, statusCode: number, bytes: number, milliseconds: number) => void,
    ): void;
  }

  export default function autocannon(options: Options): Run;
}
