import { DatabaseSync } from 'node:sqlite';

/** Remembers where each key was first, in a temporary file: its memory does not grow with the number of keys. */
export class SeenKeys {
  /** Without a name SQLite makes a file of its own, which is deleted when the database is closed. */
  readonly #database = new DatabaseSync('');
  readonly #insert;
  readonly #select;

  constructor() {
    this.#database.exec('CREATE TABLE seen (key TEXT PRIMARY KEY, path TEXT NOT NULL) WITHOUT ROWID; BEGIN');
    this.#insert = this.#database.prepare('INSERT INTO seen VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#select = this.#database.prepare('SELECT path FROM seen WHERE key = ?');
  }

  /** Keeps the path of a new key. @returns the path under which the key was seen before; undefined for a new key */
  add(key: string, path: string): string | undefined {
    if (Number(this.#insert.run(key, path).changes) === 1) return undefined;
    return String(this.#select.get(key)?.path);
  }

  close(): void {
    this.#database.close();
  }
}
