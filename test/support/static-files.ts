import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/** A web server that knows nothing but the files of a folder. */
export async function serveFiles(folder: string): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const name = request.url?.replace(/\?.*$/, '').replace(/\/$/, '/index.html') ?? '';
    const content = await readFile(join(folder, name)).catch(() => undefined);
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': TYPES[extname(name)] ?? 'text/plain' });
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
