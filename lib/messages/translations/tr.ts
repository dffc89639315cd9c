import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'tr',
  minutes: '{n} dakika',
  codeMail: {
    subject: '{brand} doğrulama kodunuz',
    heading: 'Kaydınızı onaylayın',
    intro: '{brand} kaydınızı tamamlamak için bu kodu girin:',
    expiry: 'Kod {minutes} boyunca geçerlidir ve yalnızca bir kez kullanılabilir.',
    secrecy: 'Kodu kimseyle paylaşmayın. Çalışanlarımız sizden bu kodu asla istemez.',
    notYouHeading: 'Bu kodu siz istemediniz mi?',
    notYou: 'Bu e-postayı dikkate almayabilirsiniz. Kod olmadan hiç kimse adresinizle kayıt işlemini tamamlayamaz.',
  },
  sms: {
    code: ['{brand} kodunuz: {code}. Süresi {minutes} sonra dolar. Bu kodu kimseye vermeyin.', '{brand} kodu: {code}'],
    codeAlone: 'Kod: {code}',
  },
  account: {
    subject: '{brand}: {login} numaralı işlem hesabınız',
    heading: 'İşlem hesabınız açıldı',
    demoHeading: 'Demo hesabınız açıldı',
    intro: '{brand} bünyesinde sizin için yeni bir işlem hesabı açtık. Hesap bilgileri:',
    demoIntro: '{brand} bünyesinde sizin için yeni bir demo hesap açtık. Hesap bilgileri:',
    login: 'Hesap numarası',
    version: 'Platform sürümü',
    server: 'Sunucu',
    group: 'Grup',
    leverage: 'Kaldıraç',
    readonly: 'Bu hesapta şu anda işlem yapılamaz; hesap yalnızca görüntülenebilir.',
    passwords:
      'Güvenliğiniz için şifreleri asla e-postayla göndermeyiz. Şifreleri, hesabın açıldığı müşteri alanında bulabilirsiniz.',
    notYou: 'Bu iletiyi beklemiyor muydunuz? Lütfen hemen bizimle iletişime geçin.',
    popUp: 'Yeni hesabınızın numarası: {login}.',
  },
  footer: {
    support: 'Sorunuz mu var? Destek ekibimiz size memnuniyetle yardımcı olur: {email}',
    automatic: 'Bu, {brand} tarafından gönderilen otomatik bir iletidir.',
  },
  voice: 'FILIZ',
  call: {
    greeting: 'Merhaba. {brand} doğrulama kodunuzu iletmek için arıyoruz.',
    code: 'Kodunuz:',
    again: 'Tekrar ediyoruz. Kodunuz:',
    end: 'Kod {minutes} boyunca geçerlidir. Lütfen kimseyle paylaşmayın. İyi günler.',
  },
};
