import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { directionOf, LANGUAGES, pickLanguage } from '../../../lib/messages/language.ts';
import { whatsappLanguage } from '../../../lib/messages/whatsapp-language.ts';

describe('the language of a message', () => {
  it.each([
    ['pt-BR', 'pt'],
    ['zh-Hant-TW', 'zh'],
    ['DE-at', 'de'],
    ['ar-u-nu-arab', 'ar'],
    ['en_GB', 'en'],
    ['in', 'id'],
    ['cmn-Hans', 'zh'],
    ['zsm', 'ms'],
  ])('is looked up by the language of the tag: %s is %s', (tag, language) => {
    expect(pickLanguage(tag)).toBe(language);
  });

  it.each([['nl'], ['und'], ['x-private'], [''], ['valueof'], ['not a tag'], [undefined]])(
    'is English for %s, in which no message is written',
    (tag) => {
      expect(pickLanguage(tag)).toBe('en');
    },
  );

  it('is found for every string, without an error', () => {
    fc.assert(fc.property(fc.string(), (tag) => LANGUAGES.includes(pickLanguage(tag))));
  });

  it('is written from right to left in Arabic alone', () => {
    expect(LANGUAGES.filter((language) => directionOf(language) === 'rtl')).toEqual(['ar']);
  });

  it('has the code that Meta approves templates under', () => {
    expect(LANGUAGES.map((language) => whatsappLanguage(language))).toEqual(
      'en_US es pt_BR fr de it pl ru tr ar hi zh_CN ja ko vi th id ms'.split(' '),
    );
    expect(whatsappLanguage('pt-PT')).toBe('pt_BR');
    expect(whatsappLanguage(undefined)).toBe('en_US');
  });
});
