import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { traceTarget } from '../../lib/config.ts';
import { annotateTrace } from '../../lib/trace.ts';

const TRACED = {
  AWS_XRAY_DAEMON_ADDRESS: '127.0.0.1:2000',
  _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a87bd80c:0',
};

describe('The trace of a call', () => {
  it('gets the request id as an annotation, under the segment of Lambda', async () => {
    const daemon = createSocket('udp4').bind(0, '127.0.0.1');
    await once(daemon, 'listening');
    const received = once(daemon, 'message');
    const startedAt = Date.now();
    const target = traceTarget({ ...TRACED, AWS_XRAY_DAEMON_ADDRESS: `127.0.0.1:${daemon.address().port}` });
    await annotateTrace('r-1', startedAt, target);
    const [message] = (await received) as [Buffer];
    daemon.close();
    const [header = '', body = ''] = message.toString().split('\n');
    expect(JSON.parse(header)).toEqual({ format: 'json', version: 1 });
    expect(JSON.parse(body)).toEqual({
      type: 'subsegment',
      name: 'endpoint',
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      trace_id: '1-5759e988-bd862e3fe1be46a994272793',
      parent_id: '53995c3f42cd8ad8',
      start_time: startedAt / 1_000,
      end_time: expect.any(Number),
      annotations: { request_id: 'r-1' },
    });
  });

  it('that nobody collects holds nothing up', async () => {
    const target = traceTarget({ ...TRACED, AWS_XRAY_DAEMON_ADDRESS: '127.0.0.1:9' });
    await expect(annotateTrace('r-1', Date.now(), target)).resolves.toBeUndefined();
    await expect(annotateTrace('r-1', Date.now(), { ...TRACE_OF_NOBODY })).resolves.toBeUndefined();
  });

  it.each([
    ['outside of Lambda', {}],
    ['that is not sampled', { ...TRACED, _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd;Parent=53995c3f42cd8ad8;Sampled=0' }],
    ['without its parent', { ...TRACED, _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd;Sampled=1' }],
    ['without a daemon', { _X_AMZN_TRACE_ID: TRACED._X_AMZN_TRACE_ID }],
  ])('%s is not written', (_, environment) => {
    expect(traceTarget(environment)).toBeUndefined();
  });
});

const TRACE_OF_NOBODY = { host: '127.0.0.1', port: 70_000, traceId: '1-0-0', parentId: '0' };
