import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'ja',
  wordBreak: 'auto-phrase',
  minutes: '{n}分',
  codeMail: {
    subject: '【{brand}】認証コードのお知らせ',
    heading: 'ご登録の確認',
    intro: '{brand} へのご登録を完了するには、次のコードを入力してください。',
    expiry: 'コードの有効期限は{minutes}で、一度のみご利用いただけます。',
    secrecy: 'このコードは誰にも教えないでください。当社の担当者がコードをお尋ねすることは一切ありません。',
    notYouHeading: 'お心当たりがない場合',
    notYou:
      'このメールは破棄していただいて問題ありません。コードがなければ、第三者がお客様のメールアドレスで登録を完了することはできません。',
  },
  sms: {
    code: [
      '【{brand}】認証コード：{code}（有効期限{minutes}）。他人に教えないでください。',
      '【{brand}】認証コード：{code}',
    ],
    codeAlone: '認証コード：{code}',
  },
  account: {
    subject: '【{brand}】取引口座 {login} 開設のお知らせ',
    heading: '取引口座が開設されました',
    demoHeading: 'デモ口座が開設されました',
    intro: '{brand} で新しい取引口座を開設いたしました。口座の詳細は以下のとおりです。',
    demoIntro: '{brand} で新しいデモ口座を開設いたしました。口座の詳細は以下のとおりです。',
    login: 'ログインID',
    version: 'プラットフォームのバージョン',
    server: 'サーバー',
    group: 'グループ',
    leverage: 'レバレッジ',
    readonly: 'この口座では現在お取引いただけません。閲覧のみ可能です。',
    passwords:
      '安全のため、パスワードをメールでお送りすることはありません。パスワードは、口座を開設した会員ページでご確認ください。',
    notYou: 'お心当たりがない場合は、直ちに当社までご連絡ください。',
    popUp: '新しい口座のログインIDは {login} です。',
  },
  footer: {
    support: 'ご不明な点は、サポート窓口までお問い合わせください：{email}',
    automatic: 'このメールは {brand} から自動送信されています。',
  },
  voice: 'TAKUMI',
  call: {
    greeting: 'こちらは{brand}です。認証コードをお知らせします。',
    code: 'コードは次のとおりです。',
    again: 'もう一度お知らせします。',
    end: 'コードの有効期限は{minutes}です。誰にも教えないでください。それでは失礼いたします。',
  },
};
