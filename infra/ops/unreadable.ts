import { CommandError, countOf } from './command.ts';
import type { Terminal } from './terminal.ts';

/** Where an operator reads what to do with an item that cannot be read. */
export const UNREADABLE_ITEM_PAGE = 'infra/docs/operating.md, An item that cannot be read.';

/** Names the items that cannot be read, while a command works on the others. */
export class UnreadableItems {
  readonly #report: Terminal['report'];
  #count = 0;

  constructor({ report }: Pick<Terminal, 'report'>) {
    this.#report = report;
  }

  /** @param sentences that name one item */
  readonly name = (sentences: string | readonly string[]): void => {
    this.#count += 1;
    this.#report(sentences);
  };

  /**
   * @param others what was done with the other items
   * @throws CommandError if there was an unreadable item: the command did less than it was asked to do
   */
  finish(others: string): void {
    if (this.#count > 0)
      throw new CommandError(`${countOf(this.#count, 'item')} cannot be read; ${others}. ${UNREADABLE_ITEM_PAGE}`);
  }
}
