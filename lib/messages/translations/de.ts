import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'de',
  minutes: '{n} Minuten',
  codeMail: {
    subject: 'Ihr Bestätigungscode von {brand}',
    heading: 'Bestätigen Sie Ihre Registrierung',
    intro: 'Geben Sie diesen Code ein, um Ihre Registrierung bei {brand} abzuschließen:',
    expiry: 'Der Code ist {minutes} gültig und kann nur einmal verwendet werden.',
    secrecy: 'Geben Sie ihn an niemanden weiter. Unsere Mitarbeiter werden Sie nie danach fragen.',
    notYouHeading: 'Das waren nicht Sie?',
    notYou:
      'Wenn Sie diesen Code nicht angefordert haben, können Sie diese E-Mail einfach ignorieren. Ohne den Code kann niemand eine Registrierung mit Ihrer Adresse abschließen.',
  },
  sms: {
    code: [
      '{code} ist Ihr Bestätigungscode von {brand}. Er ist {minutes} gültig. Geben Sie ihn an niemanden weiter.',
      '{brand}: Code {code}',
    ],
    codeAlone: 'Code: {code}',
  },
  account: {
    subject: '{brand}: Ihr Handelskonto {login}',
    heading: 'Ihr Handelskonto ist eröffnet',
    demoHeading: 'Ihr Demokonto ist eröffnet',
    intro: 'Wir haben bei {brand} ein neues Handelskonto für Sie eröffnet. Hier sind die Daten:',
    demoIntro: 'Wir haben bei {brand} ein neues Demokonto für Sie eröffnet. Hier sind die Daten:',
    login: 'Login',
    version: 'Plattformversion',
    server: 'Server',
    group: 'Gruppe',
    leverage: 'Hebel',
    readonly: 'Der Handel ist auf diesem Konto derzeit nicht möglich; Sie können es nur einsehen.',
    passwords:
      'Zu Ihrer Sicherheit versenden wir Passwörter nie per E-Mail. Sie finden sie in dem Kundenbereich, in dem das Konto eröffnet wurde.',
    notYou: 'Sie haben diese Nachricht nicht erwartet? Bitte wenden Sie sich umgehend an uns.',
    popUp: 'Der Login Ihres neuen Kontos lautet {login}.',
  },
  footer: {
    support: 'Haben Sie Fragen? Unser Kundenservice hilft Ihnen gern: {email}',
    automatic: 'Dies ist eine automatische Nachricht von {brand}.',
  },
  voice: 'VICKI',
  call: {
    greeting: 'Guten Tag. Hier ist {brand} mit Ihrem Bestätigungscode.',
    code: 'Ihr Code lautet:',
    again: 'Noch einmal. Ihr Code lautet:',
    end: 'Der Code ist {minutes} gültig. Bitte geben Sie ihn an niemanden weiter. Auf Wiederhören.',
  },
};
