import type { VoiceWords } from '../words.ts';

/**
 * What is spoken in calls, in the languages that `SendVoiceMessage` has a voice for; apart from the written words, so that it
 * is loaded with the channel.
 */
export const SPOKEN_WORDS = {
  en: {
    greeting: 'Hello. This is {brand}, calling with your verification code.',
    code: 'Your code is:',
    again: 'Once more, your code is:',
    end: 'The code is valid for {minutes}. Please do not share it with anyone. Goodbye.',
    ownerNotice:
      'Hello. This is a message from {brand}. Someone has just tried to register with your details. You already have an account with us, so nothing has changed. If this was you, simply sign in. If not, there is nothing you need to do. Goodbye.',
  },
  es: {
    greeting: 'Hola. Le llamamos de {brand} para darle su código de verificación.',
    code: 'Su código es:',
    again: 'Se lo repetimos. Su código es:',
    end: 'El código es válido durante {minutes}. No lo comparta con nadie. Gracias y hasta luego.',
    ownerNotice:
      'Hola. Este es un mensaje de {brand}. Alguien acaba de intentar registrarse con sus datos. Usted ya tiene una cuenta con nosotros, por lo que no ha cambiado nada. Si ha sido usted, inicie sesión. Si no, no tiene que hacer nada. Gracias y hasta luego.',
  },
  pt: {
    greeting: 'Olá. Esta é uma ligação da {brand} com o seu código de verificação.',
    code: 'Seu código é:',
    again: 'Vamos repetir. Seu código é:',
    end: 'O código é válido por {minutes}. Não o compartilhe com ninguém. Obrigado e até logo.',
    ownerNotice:
      'Olá. Esta é uma mensagem da {brand}. Alguém acabou de tentar se cadastrar com os seus dados. Você já tem uma conta conosco; por isso, nada mudou. Se foi você, basta entrar na sua conta. Se não foi você, não é preciso fazer nada. Obrigado e até logo.',
  },
  fr: {
    greeting: 'Bonjour. Ici {brand}. Voici votre code de vérification.',
    code: 'Votre code est :',
    again: 'Nous répétons. Votre code est :',
    end: 'Ce code est valable {minutes}. Ne le communiquez à personne. Au revoir.',
    ownerNotice:
      'Bonjour. Ceci est un message de {brand}. Quelqu’un vient d’essayer de s’inscrire avec vos données. Vous avez déjà un compte chez nous, et rien n’a changé. Si c’était vous, connectez-vous simplement. Sinon, vous n’avez rien à faire. Au revoir.',
  },
  de: {
    greeting: 'Guten Tag. Hier ist {brand} mit Ihrem Bestätigungscode.',
    code: 'Ihr Code lautet:',
    again: 'Noch einmal. Ihr Code lautet:',
    end: 'Der Code ist {minutes} gültig. Bitte geben Sie ihn an niemanden weiter. Auf Wiederhören.',
    ownerNotice:
      'Guten Tag. Dies ist eine Nachricht von {brand}. Soeben hat jemand versucht, sich mit Ihren Daten zu registrieren. Sie haben bereits ein Konto bei uns, und nichts hat sich geändert. Wenn Sie es waren, melden Sie sich einfach an. Wenn nicht, müssen Sie nichts weiter tun. Auf Wiederhören.',
  },
  it: {
    greeting: 'Buongiorno. Questa è una chiamata di {brand} con il Suo codice di verifica.',
    code: 'Il codice è:',
    again: 'Ripetiamo. Il codice è:',
    end: 'Il codice è valido per {minutes}. Non lo comunichi a nessuno. Arrivederci.',
    ownerNotice:
      'Buongiorno. Questo è un messaggio di {brand}. Qualcuno ha appena tentato di registrarsi con i Suoi dati. Lei ha già un conto presso di noi, quindi nulla è cambiato. Se è stato Lei, acceda al Suo conto. In caso contrario, non deve fare nulla. Arrivederci.',
  },
  pl: {
    greeting: 'Dzień dobry. Dzwonimy z {brand}, aby przekazać kod weryfikacyjny.',
    code: 'Kod to:',
    again: 'Powtarzamy. Kod to:',
    end: 'Kod jest ważny przez {minutes}. Prosimy nikomu go nie podawać. Do widzenia.',
    ownerNotice:
      'Dzień dobry. To wiadomość od {brand}. Ktoś przed chwilą próbował zarejestrować się z użyciem Państwa danych. Mają już Państwo u nas konto, dlatego nic się nie zmieniło. Jeśli to Państwo, wystarczy się zalogować. Jeśli nie, nie trzeba nic robić. Do widzenia.',
  },
  ru: {
    greeting: 'Здравствуйте. Вам звонят из {brand}, чтобы сообщить код подтверждения.',
    code: 'Ваш код:',
    again: 'Повторяем. Ваш код:',
    end: 'Код действует {minutes}. Никому его не сообщайте. До свидания.',
    ownerNotice:
      'Здравствуйте. Это сообщение от {brand}. Только что кто-то попытался зарегистрироваться с вашими данными. У вас уже есть учётная запись, поэтому ничего не изменилось. Если это были вы, просто войдите в неё. Если нет, ничего делать не нужно. До свидания.',
  },
  tr: {
    greeting: 'Merhaba. {brand} doğrulama kodunuzu iletmek için arıyoruz.',
    code: 'Kodunuz:',
    again: 'Tekrar ediyoruz. Kodunuz:',
    end: 'Kod {minutes} boyunca geçerlidir. Lütfen kimseyle paylaşmayın. İyi günler.',
    ownerNotice:
      'Merhaba. Bu, {brand} tarafından iletilen bir mesajdır. Az önce birisi bilgilerinizle kaydolmaya çalıştı. Zaten bir hesabınız olduğu için hiçbir şey değişmedi. Bu kişi sizseniz giriş yapmanız yeterlidir. Siz değilseniz bir şey yapmanıza gerek yoktur. İyi günler.',
  },
  ar: {
    greeting: 'مرحبًا. نتصل بكم من {brand} لإبلاغكم برمز التحقق.',
    code: 'رمز التحقق هو:',
    again: 'نكرر. رمز التحقق هو:',
    end: 'الرمز صالح لمدة {minutes}. يُرجى عدم مشاركته مع أي شخص. مع السلامة.',
    ownerNotice:
      'مرحبًا. هذه رسالة من {brand}. حاول شخص ما للتو التسجيل باستخدام بياناتكم. لديكم حساب لدينا بالفعل، لذلك لم يتغير أي شيء. إذا كنتم أنتم من حاول التسجيل، فيكفي تسجيل الدخول. وإذا لم تكونوا أنتم، فلا يلزم اتخاذ أي إجراء. مع السلامة.',
  },
  zh: {
    greeting: '您好，这里是 {brand}，为您播报验证码。',
    code: '您的验证码是：',
    again: '再播报一遍，您的验证码是：',
    end: '验证码{minutes}内有效，请勿告知他人。再见。',
    ownerNotice:
      '您好，这里是 {brand}。刚才有人尝试使用您的信息注册。您已拥有账户，因此没有任何变动。如果是您本人操作，请直接登录。如果不是，您无需采取任何措施。再见。',
  },
  ja: {
    greeting: 'こちらは{brand}です。認証コードをお知らせします。',
    code: 'コードは次のとおりです。',
    again: 'もう一度お知らせします。',
    end: 'コードの有効期限は{minutes}です。誰にも教えないでください。それでは失礼いたします。',
    ownerNotice:
      'こちらは{brand}です。先ほど、お客様の情報で新規登録が試みられました。お客様はすでにアカウントをお持ちのため、変更はございません。ご本人による操作の場合は、ログインしてください。お心当たりがない場合も、特にお手続きは必要ありません。それでは失礼いたします。',
  },
  ko: {
    greeting: '안녕하세요. {brand}에서 인증 코드를 안내해 드립니다.',
    code: '인증 코드는 다음과 같습니다.',
    again: '다시 한번 안내해 드립니다.',
    end: '코드는 {minutes} 동안 유효합니다. 다른 사람에게 알려 주지 마세요. 감사합니다.',
    ownerNotice:
      '안녕하세요. {brand}에서 알려 드립니다. 방금 누군가 고객님의 정보로 가입을 시도했습니다. 고객님은 이미 계정이 있으므로 변경된 사항은 없습니다. 본인이 시도하셨다면 로그인해 주세요. 본인이 아니라면 별도로 조치하실 필요가 없습니다. 감사합니다.',
  },
} satisfies Record<string, VoiceWords>;
