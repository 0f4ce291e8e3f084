package harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.Collections;

/** Converts the content of Java's key stores to PEM text, for clients that read only PEM. */
final class Stores {
    private static final Base64.Encoder LINES = Base64.getMimeEncoder(64, new byte[] {'\n'});

    private Stores() {}

    /** Returns a message with the trusted certificates of a store and its first key, as PEM text. */
    static ObjectNode read(JsonNode command) {
        try {
            return opened(command);
        } catch (GeneralSecurityException | IOException error) {
            return Pipe.message("refused").put("kind", "store").put("because", Load.describe(error));
        }
    }

    private static ObjectNode opened(JsonNode command) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(command.get("type").textValue());
        char[] password = text(command, "password");
        try (var file = Files.newInputStream(Path.of(command.get("path").textValue()))) {
            store.load(file, password);
        }
        ObjectNode message = Pipe.message("store");
        StringBuilder trusted = new StringBuilder();
        for (String alias : Collections.list(store.aliases())) {
            Certificate certificate = store.getCertificate(alias);
            if (certificate != null) {
                trusted.append(pem("CERTIFICATE", certificate.getEncoded()));
            }
            if (store.isKeyEntry(alias) && !message.has("key")) {
                char[] keyPassword = text(command, "key_password");
                var key = store.getKey(alias, keyPassword == null ? password : keyPassword);
                StringBuilder chain = new StringBuilder();
                for (Certificate each : store.getCertificateChain(alias)) {
                    chain.append(pem("CERTIFICATE", each.getEncoded()));
                }
                message.put("key", pem("PRIVATE KEY", key.getEncoded())).put("chain", chain.toString());
            }
        }
        return message.put("trusted", trusted.toString());
    }

    private static char[] text(JsonNode command, String name) {
        String value = command.path(name).textValue();
        return value == null ? null : value.toCharArray();
    }

    private static String pem(String kind, byte[] content) {
        return "-----BEGIN " + kind + "-----\n" + LINES.encodeToString(content) + "\n-----END " + kind + "-----\n";
    }
}
