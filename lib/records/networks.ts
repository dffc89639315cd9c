import { ConditionFailed, type Table } from '../aws/dynamodb.ts';

/** How many different sources of one network may ask in an hour of the clock: one item for each, a set of their names. */
export interface Networks {
  /**
   * Takes a place for a source, once an hour however often it asks: one that has used up its own allowance takes no more.
   * @returns how long a source that found no place has to wait, in milliseconds; 0: it has one
   * @throws DatabaseFailure
   */
  join(network: string, source: string, at: number, signal: AbortSignal): Promise<number>;
}

const HOUR_MS = 60 * 60_000;

export function networksIn(table: Table, mostSources: number): Networks {
  return {
    async join(network, source, at, signal) {
      const ends = (Math.floor(at / HOUR_MS) + 1) * HOUR_MS;
      const expression = {
        update: 'SET expires_at = :expires_at ADD sources :sources',
        condition: 'attribute_not_exists(sources) OR contains(sources, :source) OR size(sources) < :most',
        values: {
          ':expires_at': ends / 1_000,
          ':sources': new Set([source]),
          ':source': source,
          ':most': mostSources,
        },
      };
      try {
        await table.update({ pk: `${network}#${ends / HOUR_MS}` }, expression, signal);
        return 0;
      } catch (error) {
        if (error instanceof ConditionFailed) return ends - at;
        throw error;
      }
    },
  };
}
