import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'fr',
  minutes: '{n} minutes',
  codeMail: {
    subject: 'Votre code de vérification {brand}',
    heading: 'Confirmez votre inscription',
    intro: 'Saisissez ce code pour terminer votre inscription chez {brand}\u00a0:',
    expiry: 'Ce code est valable {minutes} et ne peut être utilisé qu’une seule fois.',
    secrecy: 'Ne le communiquez à personne. Nos collaborateurs ne vous le demanderont jamais.',
    notYouHeading: 'Ce n’était pas vous\u00a0?',
    notYou:
      'Si vous n’avez pas demandé ce code, ignorez simplement cet e-mail. Sans ce code, personne ne peut terminer une inscription avec votre adresse.',
  },
  sms: {
    code: [
      "{code} est votre code d'inscription {brand}. Il expire dans {minutes}. Ne le communiquez à personne.",
      '{brand} : code {code}',
    ],
    codeAlone: 'Code : {code}',
  },
  account: {
    subject: '{brand}\u00a0: votre compte de trading {login}',
    heading: 'Votre compte de trading est ouvert',
    demoHeading: 'Votre compte de démonstration est ouvert',
    intro: 'Nous avons ouvert pour vous un nouveau compte de trading chez {brand}. En voici les détails\u00a0:',
    demoIntro:
      'Nous avons ouvert pour vous un nouveau compte de démonstration chez {brand}. En voici les détails\u00a0:',
    login: 'Identifiant',
    version: 'Version de la plateforme',
    server: 'Serveur',
    group: 'Groupe',
    leverage: 'Effet de levier',
    readonly:
      'Il n’est pas possible de négocier sur ce compte pour le moment\u00a0; il est accessible en consultation uniquement.',
    passwords:
      'Pour votre sécurité, nous n’envoyons jamais de mots de passe par e-mail. Vous les trouverez dans l’espace client où le compte a été ouvert.',
    notYou: 'Vous n’attendiez pas ce message\u00a0? Contactez-nous immédiatement.',
    popUp: 'L’identifiant de votre nouveau compte est {login}.',
  },
  footer: {
    support: 'Une question\u00a0? Notre service client est à votre disposition\u00a0: {email}',
    automatic: 'Ceci est un message automatique de {brand}.',
  },
  voice: 'LEA',
  call: {
    greeting: 'Bonjour. Ici {brand}. Voici votre code de vérification.',
    code: 'Votre code est :',
    again: 'Nous répétons. Votre code est :',
    end: 'Ce code est valable {minutes}. Ne le communiquez à personne. Au revoir.',
  },
};
