import { tradingAccountEndpoint } from '../lib/trading-account-endpoint.ts';

/** `POST /public/v1/users/{user_id}/tp5/accounts`: opens an account of platform version 5 for a client → 200. */
export const handler = tradingAccountEndpoint('tp5');
