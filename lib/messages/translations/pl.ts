import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'pl',
  minutes: '{n} minut',
  codeMail: {
    subject: 'Państwa kod weryfikacyjny {brand}',
    heading: 'Potwierdzenie rejestracji',
    intro: 'Aby dokończyć rejestrację w {brand}, prosimy wpisać ten kod:',
    expiry: 'Kod jest ważny przez {minutes} i można go użyć tylko raz.',
    secrecy: 'Prosimy nikomu go nie podawać. Nasi pracownicy nigdy o niego nie poproszą.',
    notYouHeading: 'Nie prosili Państwo o ten kod?',
    notYou: 'Prosimy zignorować tę wiadomość. Bez kodu nikt nie dokończy rejestracji z użyciem Państwa adresu.',
  },
  sms: {
    code: ['{brand}: kod rejestracyjny {code}. Wygasa za {minutes}. Kod jest poufny.', '{brand}: kod {code}'],
    codeAlone: 'Kod: {code}',
  },
  account: {
    subject: '{brand}: rachunek transakcyjny {login}',
    heading: 'Państwa rachunek transakcyjny jest otwarty',
    demoHeading: 'Państwa rachunek demo jest otwarty',
    intro: 'Otworzyliśmy dla Państwa nowy rachunek transakcyjny w {brand}. Oto jego dane:',
    demoIntro: 'Otworzyliśmy dla Państwa nowy rachunek demo w {brand}. Oto jego dane:',
    login: 'Login',
    version: 'Wersja platformy',
    server: 'Serwer',
    group: 'Grupa',
    leverage: 'Dźwignia',
    readonly: 'Obecnie na tym rachunku nie można zawierać transakcji; jest dostępny tylko do wglądu.',
    passwords:
      'Ze względów bezpieczeństwa nigdy nie wysyłamy haseł e-mailem. Hasła znajdują się w strefie klienta, w której otwarto konto.',
    notYou: 'Nie spodziewali się Państwo tej wiadomości? Prosimy o niezwłoczny kontakt z nami.',
    popUp: 'Login nowego rachunku: {login}.',
  },
  footer: {
    support: 'W razie pytań prosimy o kontakt z naszym działem obsługi klienta: {email}',
    automatic: 'Wiadomość wysłana automatycznie przez {brand}.',
  },
  voice: 'EWA',
  call: {
    greeting: 'Dzień dobry. Dzwonimy z {brand}, aby przekazać kod weryfikacyjny.',
    code: 'Kod to:',
    again: 'Powtarzamy. Kod to:',
    end: 'Kod jest ważny przez {minutes}. Prosimy nikomu go nie podawać. Do widzenia.',
  },
};
