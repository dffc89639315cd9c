import { registrationEndpoint } from '../lib/registration-endpoint.ts';

/** `POST /public/v1/account/register/request`: keeps a pending registration and sends its one-time password → 204. */
export const handler = registrationEndpoint();
