import { describe, expect, it } from 'vitest';
import { countedDomain } from '../../../lib/limits/counters.ts';

describe('The mails to a domain', () => {
  it.each([
    'gmail.com',
    'outlook.com',
    'yahoo.co.jp',
    'web.de',
    'qq.com',
    'mail.ru',
    'uol.com.br',
    'naver.com',
    'proton.me',
  ])('are not counted at %s, a mail provider with millions of people', async (domain) => {
    expect(await countedDomain(domain)).toBeUndefined();
  });

  it.each([
    ...['mailinator.com', 'yopmail.com', 'guerrillamail.com', '10minutemail.com', 'temp-mail.org', 'sharklasers.com'],
    ...['trashmail.com', 'maildrop.cc', 'getnada.com', 'dispostable.com', 'mohmal.com', 'bugmenot.com', 'facebook.com'],
  ])('are counted at %s, which gives everybody throw-away addresses or none', async (domain) => {
    expect(await countedDomain(domain)).toBe(domain);
  });

  it.each([
    ['a.b.acme.co.uk', 'acme.co.uk'],
    ['mail.gmail.com.evil.example', 'evil.example'],
    ['x.yopmail.com', 'yopmail.com'],
    ['acme.example', 'acme.example'],
    ['co.uk', 'co.uk'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  ])('are counted by its registrable part: %s as %s', async (domain, counted) => {
    expect(await countedDomain(domain)).toBe(counted);
  });
});
