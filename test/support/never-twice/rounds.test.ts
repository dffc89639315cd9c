import { expect, it } from 'vitest';
import { receivedOf } from './rounds.ts';

it('a caller gets no answer that is later than API Gateway waits', () => {
  expect(receivedOf('an answer', 30_000)).toBe('an answer');
  expect(receivedOf('an answer', 30_001)).toBeUndefined();
});
