// Receives the webhook (infra/docs/integrating.md). To be copied; a JSON library reads the message. WEBHOOK_SECRET=whsec_... PORT=4000 java Receiver.java (Java 17)
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Receiver {
  static final byte[] KEY = Base64.getDecoder().decode(System.getenv("WEBHOOK_SECRET").substring("whsec_".length()));
  static final Map<String, String> ANSWERS = new HashMap<>(); // by webhook-id; a CRM keeps them in its database

  public static void main(String[] args) throws Exception {
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
    server.createContext("/", exchange -> {
      byte[] body = exchange.getRequestBody().readAllBytes();
      var headers = exchange.getRequestHeaders();
      String id = headers.getFirst("webhook-id"), sent = headers.getFirst("webhook-timestamp");
      boolean ok = isSigned(id, sent, body, headers.getFirst("webhook-signature"));
      byte[] answer = (ok ? ANSWERS.computeIfAbsent(id, key -> receive(new String(body))) : "{}").getBytes();
      exchange.sendResponseHeaders(ok ? 200 : 401, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    });
    server.start();
  }

  static String receive(String json) {
    boolean isNew = json.contains("\"type\":\"RegistrationConfirmed\"") && json.contains("\"email_taken\":false");
    return isNew ? String.format("{\"client_id\":\"N%07d\"}", ANSWERS.size() + 1) : "{}";
  }

  static boolean isSigned(String id, String sent, byte[] body, String signatures) {
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
      mac.update((id + "." + sent + ".").getBytes());
      byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
      boolean isFresh = Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(sent)) <= 300;
      return isFresh && Arrays.stream(signatures.split(" ")).anyMatch(one -> MessageDigest.isEqual(expected, one.getBytes()));
    } catch (Exception error) {
      return false;
    }
  }
}
