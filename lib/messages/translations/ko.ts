import type { Translation } from './translation.ts';

export const translation: Translation = {
  language: 'ko',
  wordBreak: 'keep-all',
  minutes: '{n}분',
  codeMail: {
    subject: '[{brand}] 인증 코드 안내',
    heading: '가입 확인',
    intro: '{brand} 가입을 완료하려면 아래 코드를 입력해 주세요.',
    expiry: '코드는 {minutes} 동안 유효하며 한 번만 사용할 수 있습니다.',
    secrecy: '코드를 다른 사람에게 알려 주지 마세요. 당사 직원은 코드를 절대 요청하지 않습니다.',
    notYouHeading: '본인이 요청하지 않으셨나요?',
    notYou: '이 메일을 무시하셔도 됩니다. 코드가 없으면 누구도 고객님의 이메일 주소로 가입을 완료할 수 없습니다.',
  },
  sms: {
    code: [
      '[{brand}] 인증 코드 {code} ({minutes} 동안 유효). 타인에게 알려 주지 마세요.',
      '[{brand}] 인증 코드 {code}. 타인에게 알려 주지 마세요.',
      '[{brand}] 인증 코드 {code}',
    ],
    codeAlone: '인증 코드 {code}',
  },
  account: {
    subject: '[{brand}] 거래 계좌 {login} 개설 안내',
    heading: '거래 계좌가 개설되었습니다',
    demoHeading: '데모 계좌가 개설되었습니다',
    intro: '{brand}에서 고객님의 새 거래 계좌를 개설했습니다. 계좌 정보는 다음과 같습니다.',
    demoIntro: '{brand}에서 고객님의 새 데모 계좌를 개설했습니다. 계좌 정보는 다음과 같습니다.',
    login: '로그인 ID',
    version: '플랫폼 버전',
    server: '서버',
    group: '그룹',
    leverage: '레버리지',
    readonly: '현재 이 계좌에서는 거래할 수 없으며 조회만 가능합니다.',
    passwords:
      '고객님의 안전을 위해 비밀번호는 이메일로 보내 드리지 않습니다. 비밀번호는 계좌를 개설한 고객 페이지에서 확인하실 수 있습니다.',
    notYou: '예상하지 못한 메일인가요? 즉시 당사에 연락해 주세요.',
    popUp: '새 계좌의 로그인 ID는 {login}입니다.',
  },
  footer: {
    support: '궁금한 점은 고객지원팀으로 문의해 주세요: {email}',
    automatic: '이 메일은 {brand}에서 자동으로 발송되었습니다.',
  },
  voice: 'SEOYEON',
  call: {
    greeting: '안녕하세요. {brand}에서 인증 코드를 안내해 드립니다.',
    code: '인증 코드는 다음과 같습니다.',
    again: '다시 한번 안내해 드립니다.',
    end: '코드는 {minutes} 동안 유효합니다. 다른 사람에게 알려 주지 마세요. 감사합니다.',
  },
};
