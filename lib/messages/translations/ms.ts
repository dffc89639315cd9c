import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'ms',
  minutes: '{n} minit',
  codeMail: {
    subject: 'Kod pengesahan {brand} anda',
    heading: 'Sahkan pendaftaran anda',
    intro: 'Masukkan kod ini untuk melengkapkan pendaftaran anda dengan {brand}:',
    expiry: 'Kod ini sah selama {minutes} dan hanya boleh digunakan sekali.',
    secrecy: 'Jangan kongsi kod ini dengan sesiapa. Kakitangan kami tidak akan memintanya daripada anda.',
    notYouHeading: 'Bukan anda?',
    notYou:
      'Jika anda tidak meminta kod ini, abaikan sahaja e-mel ini. Tanpa kod ini, tiada sesiapa boleh melengkapkan pendaftaran menggunakan alamat anda.',
  },
  sms: {
    code: [
      '{code} ialah kod pengesahan {brand} anda. Sah selama {minutes}. Jangan kongsi dengan sesiapa.',
      'Kod {brand}: {code}',
    ],
    codeAlone: 'Kod: {code}',
  },
  account: {
    subject: '{brand}: akaun dagangan {login} anda',
    heading: 'Akaun dagangan anda telah dibuka',
    demoHeading: 'Akaun demo anda telah dibuka',
    intro: 'Kami telah membuka akaun dagangan baharu untuk anda di {brand}. Butirannya seperti berikut:',
    demoIntro: 'Kami telah membuka akaun demo baharu untuk anda di {brand}. Butirannya seperti berikut:',
    login: 'Login',
    version: 'Versi platform',
    server: 'Pelayan',
    group: 'Kumpulan',
    leverage: 'Leveraj',
    readonly: 'Akaun ini tidak boleh digunakan untuk berdagang buat masa ini; ia hanya boleh dilihat.',
    passwords:
      'Demi keselamatan anda, kami tidak sekali-kali menghantar kata laluan melalui e-mel. Anda boleh melihatnya di ruang pelanggan tempat akaun dibuka.',
    notYou: 'Anda tidak meminta akaun ini? Sila hubungi kami dengan segera.',
    popUp: 'Login akaun baharu anda ialah {login}.',
  },
  footer: {
    support: 'Ada pertanyaan? Pasukan sokongan kami sedia membantu: {email}',
    automatic: 'Ini ialah mesej automatik daripada {brand}.',
  },
  voice: 'JOANNA',
};
