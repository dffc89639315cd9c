import { tradingAccountEndpoint } from '../lib/trading-account-endpoint.ts';

/** `POST /public/v1/users/{user_id}/tp4/accounts`: opens an account of platform version 4 for a client → 200. */
export const handler = tradingAccountEndpoint('tp4');
