import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleOf } from '../../lib/validators/custom-fields.ts';
import { CUSTOM_FIELD_TYPES } from '../../lib/validators/form.ts';
import { type RegistrationWorld, registrationOf, registrationWorld } from '../support/registration-world.ts';

/** The smallest PNG and a PDF, as their first bytes tell them. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==',
  'base64',
);
const PDF = Buffer.from('%PDF-1.7\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n');
const MEGABYTE = 1024 * 1024;

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
});
afterAll(() => world.close());

describe('The fields of the form', () => {
  const values = Object.fromEntries(
    CUSTOM_FIELD_TYPES.filter((type) => type !== 'document').map((type) => [`field_${type}`, sampleOf(type)]),
  );

  it('of every type are kept as they were sent', async () => {
    const person = world.stranger();
    const doc = PNG.toString('base64');
    const documents = { field_document: [{ id: 'd1', name: 'me.png', doc }] };
    const reply = await world.post(registrationOf(person, { form_id: 'FORMFULL', ...values, ...documents }));
    expect(reply.status, reply.text).toBe(204);
    const record = await world.record('email', person);
    expect(JSON.parse(String(record?.custom_fields))).toEqual(values);
  });

  it('are all checked at once, each under its pointer', async () => {
    const reply = await world.post(
      registrationOf(world.stranger(), {
        form_id: 'FORMFULL',
        field_number: '5',
        field_multiselect: ['fx', 'gold'],
        field_date: '2023-02-29',
        field_document: [{ id: '1', name: 'a', doc: 'not base64' }],
        field_location: { country: 'GB', state: '', town: 'Bath' },
        'a/b~c': 1,
      }),
    );
    expect(reply).toMatchObject({ status: 400, json: { type: 'validation_failed' } });
    const faults = (reply.json.errors as { pointer: string; rule: string }[]).map(
      ({ pointer, rule }) => `${pointer} ${rule}`,
    );
    expect(faults.toSorted()).toEqual([
      '#/a~1b~0c unknown_field',
      '#/field_date date',
      '#/field_document/0/doc base64',
      '#/field_location/city required',
      '#/field_location/town unknown_field',
      '#/field_multiselect/1 one_of',
      '#/field_number type',
      '#/field_text required',
    ]);
  });
});

describe('Documents', () => {
  const upload = (...documents: object[]) => ({ form_id: 'FORM0001', k3J9xQ: 'none', d0cUpl: documents });

  it('are stored under the registration’s id with what was typed of them, and never in a row', async () => {
    const person = world.stranger();
    const names = ['../../etc/passwd', 'паспорт\r\nx-amz-acl: public-read.pdf'];
    const reply = await world.post(
      registrationOf(
        person,
        upload(
          { id: 'first', name: names[0], doc: PNG.toString('base64') },
          { id: 'zwei/2', name: names[1], doc: PDF.toString('base64') },
        ),
      ),
    );
    expect(reply.status, reply.text).toBe(204);
    const record = await world.record('email', person);
    const prefix = `registrations/${record?.registration_id}`;
    expect(record?.documents).toMatchObject([
      { field_key: 'd0cUpl', index: 0, id: 'first', key: `${prefix}/1`, media_type: 'image/png', bytes: PNG.length },
      { field_key: 'd0cUpl', index: 1, id: 'zwei/2', key: `${prefix}/2`, media_type: 'application/pdf' },
    ]);
    const { objects } = world.service.standIns.s3;
    for (const [place, bytes] of [PNG, PDF].entries()) {
      const object = objects.get(`documents/${prefix}/${place + 1}`);
      expect(object?.body.equals(bytes)).toBe(true);
      expect(object?.contentDisposition).toBe('attachment');
      expect(decodeURIComponent(object?.metadata['file-name'] ?? '')).toBe(names[place]);
    }
    const row = JSON.stringify(record);
    for (const bytes of [PNG, PDF]) {
      expect(row).not.toContain(bytes.toString('base64').slice(0, 24));
      expect(row).not.toContain(bytes.toString('latin1').slice(0, 16));
    }
    expect(JSON.parse(String(record?.custom_fields))).toEqual({ k3J9xQ: 'none' });
  });

  it('of another kind than the form accepts are refused, whatever their name says', async () => {
    const { objects } = world.service.standIns.s3;
    const before = objects.size;
    const doc = Buffer.from('<script>').toString('base64');
    const reply = await world.post(registrationOf(world.stranger(), upload({ id: '1', name: 'me.png', doc })));
    expect(reply).toMatchObject({
      status: 400,
      json: { type: 'validation_failed', errors: [{ pointer: '#/d0cUpl/0/doc', rule: 'media_type' }] },
    });
    expect(objects.size).toBe(before);
  });

  it('may have 4 MB together', async () => {
    const person = world.stranger();
    const doc = Buffer.concat([PNG, Buffer.alloc(2 * MEGABYTE - PNG.length)]).toString('base64');
    const two = upload({ id: '1', name: 'a.png', doc }, { id: '2', name: 'b.png', doc });
    expect((await world.post(registrationOf(person, two))).status).toBe(204);
    expect((await world.record('email', person))?.documents).toHaveLength(2);
  });

  it('over their size get payload_too_large, with the pointer', async () => {
    const doc = Buffer.concat([PNG, Buffer.alloc(3 * MEGABYTE)]).toString('base64');
    const reply = await world.post(registrationOf(world.stranger(), upload({ id: '1', name: 'a.png', doc })));
    expect(reply).toMatchObject({
      status: 413,
      json: { type: 'payload_too_large', errors: [{ pointer: '#/d0cUpl/0/doc', rule: 'size' }] },
    });
  });
});
