import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'zh-Hant',
  whatsapp: 'zh_TW',
  minutes: '{n} 分鐘',
  codeMail: {
    subject: '您的 {brand} 驗證碼',
    heading: '確認您的註冊',
    intro: '請輸入以下驗證碼，完成在 {brand} 的註冊：',
    expiry: '驗證碼在 {minutes}內有效，且只能使用一次。',
    secrecy: '請勿向任何人透露。我們的工作人員絕不會向您索取驗證碼。',
    notYouHeading: '不是您本人操作？',
    notYou: '如果您沒有申請此驗證碼，請忽略本郵件。沒有驗證碼，任何人都無法使用您的電子郵件地址完成註冊。',
  },
  sms: {
    code: ['【{brand}】驗證碼：{code}，{minutes}內有效，請勿告知他人。', '【{brand}】驗證碼：{code}'],
    codeAlone: '驗證碼：{code}',
  },
  account: {
    subject: '{brand}：您的交易帳戶 {login}',
    heading: '您的交易帳戶已開立',
    demoHeading: '您的模擬帳戶已開立',
    intro: '我們已在 {brand} 為您開立新的交易帳戶，詳情如下：',
    demoIntro: '我們已在 {brand} 為您開立新的模擬帳戶，詳情如下：',
    login: '登入帳號',
    version: '平台版本',
    server: '伺服器',
    group: '群組',
    leverage: '槓桿',
    readonly: '該帳戶目前不能交易，僅可檢視。',
    passwords: '為了您的安全，我們絕不會透過電子郵件傳送密碼。您可在開立帳戶的客戶專區查看密碼。',
    notYou: '沒有申請此帳戶？請立即聯絡我們。',
    popUp: '您的新帳戶登入帳號為 {login}。',
  },
  footer: {
    support: '如有疑問，請聯絡客服：{email}',
    automatic: '本訊息由 {brand} 自動發送。',
  },
  voice: 'ZHIYU',
  call: {
    greeting: '您好，這裡是 {brand}，為您播報驗證碼。',
    code: '您的驗證碼是：',
    again: '再播報一遍，您的驗證碼是：',
    end: '驗證碼{minutes}內有效，請勿告知他人。再見。',
  },
};
