import { once } from '../once.ts';

/**
 * The mail providers with millions of people, by their public figures, who have nothing in common but the provider. A
 * domain that is missing is counted like that of a company; a throw-away domain here would never be counted. So only
 * domains that the provider itself gives to everybody, or to all customers of a network, are listed.
 */
const PROVIDERS: ReadonlySet<string> = new Set(
  `gmail.com googlemail.com
  outlook.com outlook.fr outlook.de outlook.es outlook.it outlook.jp outlook.com.br hotmail.com hotmail.co.uk hotmail.fr
  hotmail.de hotmail.es hotmail.it hotmail.co.jp live.com live.co.uk live.fr live.nl live.de live.it live.com.mx msn.com
  yahoo.com yahoo.co.uk yahoo.fr yahoo.de yahoo.es yahoo.it yahoo.ca yahoo.in yahoo.co.in yahoo.co.id yahoo.co.jp
  yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.hk yahoo.com.mx yahoo.com.ph yahoo.com.sg yahoo.com.tr yahoo.com.tw
  yahoo.com.vn ymail.com rocketmail.com aol.com aim.com icloud.com me.com mac.com
  proton.me protonmail.com pm.me tutanota.com tuta.com fastmail.com zoho.com zohomail.com mail.com
  gmx.com gmx.net gmx.de gmx.at gmx.ch web.de t-online.de freenet.de arcor.de 1und1.de bluewin.ch
  orange.fr wanadoo.fr free.fr sfr.fr neuf.fr laposte.net bbox.fr
  libero.it virgilio.it alice.it tin.it tiscali.it tim.it
  btinternet.com sky.com virginmedia.com talktalk.net ntlworld.com
  ziggo.nl kpnmail.nl planet.nl hetnet.nl home.nl telenet.be skynet.be proximus.be
  telefonica.net terra.es sapo.pt otenet.gr
  wp.pl o2.pl onet.pl op.pl interia.pl seznam.cz email.cz centrum.cz azet.sk freemail.hu citromail.hu abv.bg mail.bg
  ukr.net i.ua mail.ru bk.ru inbox.ru list.ru internet.ru yandex.ru yandex.com ya.ru rambler.ru inbox.lv
  uol.com.br bol.com.br terra.com.br ig.com.br globo.com globomail.com prodigy.net.mx
  comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net earthlink.net optonline.net
  rogers.com shaw.ca sympatico.ca bell.net telus.net bigpond.com optusnet.com.au xtra.co.nz
  qq.com foxmail.com 163.com 126.com yeah.net sina.com sina.cn sohu.com 139.com 189.cn aliyun.com
  naver.com daum.net hanmail.net kakao.com nate.com docomo.ne.jp ezweb.ne.jp au.com softbank.ne.jp nifty.com
  rediffmail.com mynet.com`.split(/\s+/),
);

/** The list of public suffixes. Loaded on first use: most addresses are at public providers. */
const suffixes = once(() => import('tldts-icann'));

/**
 * The domain that the mails of an address count for: the registrable one, so `a.acme.co.uk` and `b.acme.co.uk` are one.
 * Undefined at a large mail provider.
 * @param domain in lower case and punycode
 */
export async function countedDomain(domain: string): Promise<string | undefined> {
  if (PROVIDERS.has(domain)) return undefined;
  // A domain with one dot is registrable, or is a suffix such as co.uk. Both count for themselves.
  if (/^[^.]+\.[^.]+$/.test(domain)) return domain;
  const { getDomain } = await suffixes();
  return getDomain(domain) ?? domain;
}
