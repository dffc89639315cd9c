/** The parts used here of a public client that comes without types. */
declare module 'mt5-sdk' {
  export default class Metatrader {
    constructor(server: string, port: number, auth: { login: string; password: string; build: string; agent: string });
    users: {
      create(user: Record<string, string | number>): Promise<Record<string, string> | null>;
      get(login: number): Promise<Record<string, string> | null>;
      checkPassword(login: number, password: string, type?: 'main' | 'investor'): Promise<boolean>;
      getBatch(group: string): Promise<{ answer: Record<string, string>[] } | null>;
    };
    trade: {
      updateTradeBalanceGet(deposit: {
        login: number;
        type: number;
        balance: number;
        comment: string;
      }): Promise<Record<string, string> | null>;
    };
  }
}
