import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'it',
  minutes: '{n} minuti',
  codeMail: {
    subject: 'Il Suo codice di verifica {brand}',
    heading: 'Confermi la Sua registrazione',
    intro: 'Inserisca questo codice per completare la registrazione presso {brand}:',
    expiry: 'Il codice è valido per {minutes} e può essere utilizzato una sola volta.',
    secrecy: 'Non lo comunichi a nessuno. Il nostro personale non Le chiederà mai questo codice.',
    notYouHeading: 'Non ha richiesto Lei il codice?',
    notYou:
      'Può semplicemente ignorare questa e-mail. Senza il codice, nessuno può completare una registrazione con il Suo indirizzo.',
  },
  sms: {
    code: [
      '{code} è il Suo codice di registrazione {brand}. Scade tra {minutes}. Non lo comunichi a nessuno.',
      '{brand}: codice {code}',
    ],
    codeAlone: 'Codice: {code}',
  },
  account: {
    subject: '{brand}: il Suo conto di trading {login}',
    heading: 'Il Suo conto di trading è aperto',
    demoHeading: 'Il Suo conto demo è aperto',
    intro: 'Abbiamo aperto per Lei un nuovo conto di trading presso {brand}. Ecco i dettagli:',
    demoIntro: 'Abbiamo aperto per Lei un nuovo conto demo presso {brand}. Ecco i dettagli:',
    login: 'Login',
    version: 'Versione della piattaforma',
    server: 'Server',
    group: 'Gruppo',
    leverage: 'Leva',
    readonly: 'Al momento non è possibile operare su questo conto, disponibile in sola consultazione.',
    passwords:
      'Per la Sua sicurezza, non inviamo mai password per e-mail. Le trova nell’area clienti in cui è stato aperto il conto.',
    notYou: 'Non si aspettava questo messaggio? Ci contatti immediatamente.',
    popUp: 'Il login del Suo nuovo conto è {login}.',
  },
  footer: {
    support: 'Ha bisogno di aiuto? Il nostro servizio clienti è a Sua disposizione: {email}',
    automatic: 'Questo è un messaggio automatico di {brand}.',
  },
  voice: 'BIANCA',
  call: {
    greeting: 'Buongiorno. Questa è una chiamata di {brand} con il Suo codice di verifica.',
    code: 'Il codice è:',
    again: 'Ripetiamo. Il codice è:',
    end: 'Il codice è valido per {minutes}. Non lo comunichi a nessuno. Arrivederci.',
  },
};
