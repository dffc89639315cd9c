declare module 'dynalite' {
  import type { Server } from 'node:http';

  /** DynamoDB in memory; the server closes its tables with itself. */
  export default function dynalite(options: { createTableMs: number }): Server;
}
