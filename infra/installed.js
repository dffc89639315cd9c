import crypto from 'node:crypto';
import { existsSync } from 'node:fs';

/*
 * Loaded before the programs of package.json, by any Node: before `npm ci` they would end with a stack. No TypeScript,
 * which an old Node cannot read.
 */
const missing = ['valibot', 'fastify'].some((name) => !existsSync(new URL(`../node_modules/${name}`, import.meta.url)));
if (missing) end('The packages of the project are not installed. Install them: npm ci');
if (crypto.argon2 === undefined) end('The project has no Node.js for this platform: install Node.js 24.7 or newer.');

function end(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
