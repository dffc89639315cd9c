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
  ['platform_unavailable', false, { hasKey: true, absent: false }, 'platform_unavailable'],
  ['platform_unavailable', false, { hasKey: false, absent: true }, 'platform_unavailable'],
  ['platform_unavailable', false, { hasKey: false, absent: false }, 'account_outcome_unknown'],
  // An earlier command may have opened the account: with a key a retry finds it, without one it would open a second one.
  ['platform_refused', true, { hasKey: true, absent: false }, 'platform_refused'],
  ['platform_refused', true, { hasKey: false, absent: true }, 'platform_refused'],
  ['platform_refused', true, { hasKey: false, absent: false }, 'account_outcome_unknown'],
  ['platform_refused', false, { hasKey: false, absent: false }, 'platform_refused'],
  ['group_not_found', true, { hasKey: false, absent: false }, 'account_outcome_unknown'],
] as const)('%s, after a doubtful command: %s, with %j, is answered %s', (kind, doubtful, { hasKey, absent }, type) => {
  const failure = new PlatformFailure(kind, REASON);
  const end = { kind: 'failed', failure, absent, doubtful } as const;
  const answer = () => publicAnswer(end, { ...WITH_KEY, hasKey }, recordingTelemetry([]));
  expect(answer).toThrow(expect.objectContaining({ type }));
});
