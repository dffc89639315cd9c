import { expect, it } from 'vitest';
import { publicAnswer } from '../../../lib/openings/opening.ts';
import { PlatformFailure, type PlatformFailureKind } from '../../../lib/platform/platform.ts';
import { recordingTelemetry } from '../../support/openings.ts';

const REASON = { reason: 'retcode_8' };
const WITH_KEY = { operationId: 'o', hasKey: true };

it.each<[PlatformFailureKind, number | undefined, string[], number | undefined]>([
  ['platform_refused', undefined, ['PlatformRefused'], undefined],
  ['platform_unavailable', undefined, ['PlatformUnavailable'], 5],
  ['platform_unavailable', 60, ['PlatformUnavailable'], 60],
  ['login_taken', undefined, [], undefined],
])('%s, to be retried after %s seconds: events %j, Retry-After %s', (kind, retryAfterSeconds, names, seconds) => {
  const events: Parameters<typeof recordingTelemetry>[0] = [];
  const failure = new PlatformFailure(kind, { ...REASON, ...(retryAfterSeconds && { retryAfterSeconds }) });
  const answer = () => publicAnswer({ kind: 'failed', failure, absent: false }, WITH_KEY, recordingTelemetry(events));
  const options = { retryAfterSeconds: seconds };
  expect(answer).toThrow(expect.objectContaining({ type: kind, options }));
  expect(events).toEqual(names.map((name) => ({ name, fields: REASON })));
});

it.each([
  [true, false, 'platform_unavailable'],
  [true, true, 'platform_unavailable'],
  [false, true, 'platform_unavailable'],
  [false, false, 'account_outcome_unknown'],
])('A server that is unavailable, with a key: %s, its login absent: %s, is answered %s', (hasKey, absent, type) => {
  const failure = new PlatformFailure('platform_unavailable', REASON);
  const answer = () =>
    publicAnswer({ kind: 'failed', failure, absent }, { ...WITH_KEY, hasKey }, recordingTelemetry([]));
  expect(answer).toThrow(expect.objectContaining({ type }));
});
