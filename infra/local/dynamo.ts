import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import dynalite from 'dynalite';
import { jsonAnswer, type StandInAnswer } from './stand-ins/stand-in.ts';

/** The part of a request that DynamoDB's protocol reads. */
type Head = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

export type DynamoAttributes = Record<string, unknown>;
/** One write of a transaction, as its request has it. */
interface TransactWrite extends DynamoAttributes {
  TableName: string;
  Key?: DynamoAttributes;
  Item?: DynamoAttributes;
}
type TransactItem = Partial<Record<'Put' | 'Update' | 'Delete', TransactWrite>>;

/** The effect of one write: the item before and after, in the format of the protocol. */
export interface ItemChange {
  table: string;
  before: DynamoAttributes | undefined;
  after: DynamoAttributes | undefined;
}

const WRITES = /\.(Put|Update|Delete)Item$/;
/** Dynalite demands a signature, and computes none. */
const SIGNED = {
  'content-type': 'application/x-amz-json-1.0',
  authorization: 'AWS4-HMAC-SHA256 Credential=local, SignedHeaders=host, Signature=0',
  'x-amz-date': '20260101T000000Z',
};
const CONDITION_FAILED = 'ConditionalCheckFailedException';

/**
 * Dynalite, with `TransactWriteItems`: while a transaction runs no other call does, and the writes before a failed one
 * are undone. A repeated token gets the first answer again, as on AWS.
 */
export class Dynamo {
  readonly #dynalite = dynalite({ createTableMs: 0 });
  readonly #tokens = new Set<string>();
  /** The attributes of each table's key; absent: `pk`. */
  readonly #keys: ReadonlyMap<string, readonly string[]>;
  /** Ends when all transactions that have arrived so far have ended. */
  #transaction: Promise<unknown> = Promise.resolve();
  readonly #running = new Set<Promise<StandInAnswer>>();
  /**
   * Called after each call that has written, with all its writes. While a listener is set, writes run one at a time.
   */
  onWritten: ((changes: readonly ItemChange[]) => void) | undefined;

  constructor(keys: ReadonlyMap<string, readonly string[]>) {
    this.#keys = keys;
  }

  /** A call that does not come over HTTP. @param input in the format of the protocol */
  execute(operation: string, input: DynamoAttributes): Promise<StandInAnswer> {
    const headers = { ...SIGNED, 'x-amz-target': `DynamoDB_20120810.${operation}` };
    return this.run({ method: 'POST', url: '/', headers }, Buffer.from(JSON.stringify(input)));
  }

  async run(head: Head, body: Buffer): Promise<StandInAnswer> {
    const target = String(head.headers['x-amz-target']);
    const write = this.onWritten === undefined ? undefined : WRITES.exec(target)?.[1];
    if (write === undefined && !target.endsWith('.TransactWriteItems')) {
      for (let seen: unknown; seen !== this.#transaction; ) {
        seen = this.#transaction;
        await seen;
      }
      const reply = this.#dispatch(head, body);
      this.#running.add(reply);
      return reply.finally(() => this.#running.delete(reply));
    }
    const reply = this.#transaction.then(async () => {
      await Promise.all(this.#running);
      const input = JSON.parse(body.toString('utf8'));
      return write === undefined ? this.#transact(head, input) : this.#write(head, write, input, this.#report);
    });
    this.#transaction = reply.catch(() => {});
    return reply;
  }

  async #transact(
    head: Head,
    { TransactItems = [], ClientRequestToken }: { TransactItems?: TransactItem[]; ClientRequestToken?: string },
  ): Promise<StandInAnswer> {
    if (ClientRequestToken !== undefined && this.#tokens.has(ClientRequestToken)) return jsonAnswer({});
    const changes: ItemChange[] = [];
    for (const [index, item] of TransactItems.entries()) {
      const [action, write] = Object.entries(item)[0] as [string, TransactWrite];
      const reply = await this.#write(head, action, write, (change) => void changes.push(...change));
      if (reply.status === 200) continue;
      for (const change of changes.reverse()) await this.#undo(head, change);
      return String(reply.body).includes(CONDITION_FAILED) ? cancelled(TransactItems.length, index) : reply;
    }
    if (ClientRequestToken !== undefined) this.#tokens.add(ClientRequestToken);
    this.#report(changes);
    return jsonAnswer({});
  }

  readonly #report = (changes: readonly ItemChange[]) => this.onWritten?.(changes);

  async #write(
    head: Head,
    action: string,
    write: TransactWrite,
    done: (changes: readonly ItemChange[]) => void,
  ): Promise<StandInAnswer> {
    const { TableName, Key = this.#itemKey(TableName, write.Item ?? {}) } = write;
    const get = async () => {
      const { body } = await this.#call(head, 'GetItem', { TableName, Key, ConsistentRead: true });
      return (JSON.parse(String(body)) as { Item?: DynamoAttributes }).Item;
    };
    const before = await get();
    const reply = await this.#call(head, `${action}Item`, write);
    if (reply.status === 200) done([{ table: TableName, before, after: await get() }]);
    return reply;
  }

  #undo(head: Head, { table: TableName, before, after = {} }: ItemChange): Promise<StandInAnswer> {
    if (before !== undefined) return this.#call(head, 'PutItem', { TableName, Item: before });
    return this.#call(head, 'DeleteItem', { TableName, Key: this.#itemKey(TableName, after) });
  }

  #itemKey(table: string, attributes: DynamoAttributes): DynamoAttributes {
    return Object.fromEntries((this.#keys.get(table) ?? ['pk']).map((name) => [name, attributes[name]]));
  }

  #call(head: Head, operation: string, input: DynamoAttributes): Promise<StandInAnswer> {
    const headers = { ...head.headers, 'x-amz-target': `DynamoDB_20120810.${operation}` };
    return this.#dispatch({ ...head, headers }, Buffer.from(JSON.stringify(input)));
  }

  #dispatch(head: Head, body: Buffer): Promise<StandInAnswer> {
    return new Promise((resolve) => {
      const headers: StandInAnswer['headers'] = {};
      const response = {
        statusCode: 200,
        setHeader: (name: string, value: string) => {
          headers[name.toLowerCase()] = String(value);
        },
        end: (text = '') => resolve({ status: response.statusCode, headers, body: text }),
      };
      const request = Object.assign(new EventEmitter(), head);
      this.#dynalite.emit('request', request, response);
      request.emit('data', body);
      request.emit('end');
    });
  }
}

function cancelled(writes: number, failed: number): StandInAnswer {
  const CancellationReasons = Array.from({ length: writes }, (_, index) => ({
    Code: index === failed ? 'ConditionalCheckFailed' : 'None',
  }));
  const __type = 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException';
  return jsonAnswer({ __type, Message: 'Transaction cancelled.', CancellationReasons }, 400);
}
