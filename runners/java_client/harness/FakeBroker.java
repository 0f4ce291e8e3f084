package harness;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A broker that acknowledges all records and forgets them, to warm up this process without load on a real cluster.
 *
 * <p>It listens on loopback, and speaks one version of each request that a producer needs. All releases of the client
 * that we support know these versions, which brokers have had since Kafka 2.1. Source: the message formats of Kafka's
 * protocol, https://kafka.apache.org/protocol.
 */
final class FakeBroker implements AutoCloseable {
    private static final short PRODUCE = 0;
    private static final short METADATA = 3;
    private static final short API_VERSIONS = 18;
    private static final short INIT_PRODUCER_ID = 22;

    /** The API key and the only supported version of each request, except the request for the supported versions. */
    private static final short[][] SPOKEN = {{PRODUCE, 7}, {METADATA, 5}, {INIT_PRODUCER_ID, 1}};

    private static final short FIRST_FLEXIBLE = 3;
    private static final int PARTITIONS = 3;
    private static final int NODE = 1;
    private static final int BUFFER_BYTES = 1 << 18;

    private final ServerSocket server = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());

    FakeBroker() throws IOException {
        start(this::accept, "tuner-fake-broker");
    }

    int port() {
        return server.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void start(Work work, String name) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (IOException closed) {
                // The client or this broker has been closed.
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() throws IOException {
        while (true) {
            Socket client = server.accept();
            client.setTcpNoDelay(true);
            start(() -> serve(client), "tuner-fake-broker");
        }
    }

    private void serve(Socket client) throws IOException {
        try (client) {
            var in = new DataInputStream(new BufferedInputStream(client.getInputStream(), BUFFER_BYTES));
            var out = new DataOutputStream(client.getOutputStream());
            var bytes = new ByteArrayOutputStream();
            while (true) {
                var request = new Request(in);
                bytes.reset();
                boolean answered = answer(request, new DataOutputStream(bytes));
                request.skipRest();
                if (answered) {
                    out.writeInt(bytes.size());
                    bytes.writeTo(out);
                    out.flush();
                }
            }
        }
    }

    private boolean answer(Request request, DataOutputStream out) throws IOException {
        out.writeInt(request.correlation);
        switch (request.key) {
            case PRODUCE -> {
                return produce(request, out);
            }
            case METADATA -> metadata(request, out);
            case API_VERSIONS -> versions(request.version, out);
            case INIT_PRODUCER_ID -> {
                out.writeInt(0); // not throttled
                out.writeShort(0); // no error
                out.writeLong(1); // the producer's id
                out.writeShort(0); // its epoch
            }
            default -> throw new IOException("request " + request.key);
        }
        return true;
    }

    private static void versions(short version, DataOutputStream out) throws IOException {
        boolean flexible = version >= FIRST_FLEXIBLE;
        out.writeShort(0); // no error
        if (flexible) {
            out.writeByte(SPOKEN.length + 2); // one more than the number of entries
        } else {
            out.writeInt(SPOKEN.length + 1);
        }
        for (short[] each : SPOKEN) {
            version(each[0], each[1], each[1], flexible, out);
        }
        version(API_VERSIONS, (short) 0, version, flexible, out);
        if (version > 0) {
            out.writeInt(0); // not throttled
        }
        if (flexible) {
            out.writeByte(0); // no tagged fields
        }
    }

    private static void version(short key, short least, short most, boolean flexible, DataOutputStream out)
            throws IOException {
        out.writeShort(key);
        out.writeShort(least);
        out.writeShort(most);
        if (flexible) {
            out.writeByte(0);
        }
    }

    private void metadata(Request request, DataOutputStream out) throws IOException {
        out.writeInt(0); // not throttled
        out.writeInt(1); // brokers
        out.writeInt(NODE);
        out.writeUTF(server.getInetAddress().getHostAddress());
        out.writeInt(port());
        out.writeShort(-1); // no rack
        out.writeUTF("fake"); // the cluster's id
        out.writeInt(NODE); // the controller
        int topics = Math.max(0, request.readInt());
        out.writeInt(topics);
        for (int topic = 0; topic < topics; topic++) {
            out.writeShort(0); // no error
            out.writeUTF(request.readText());
            out.writeBoolean(false); // not internal
            out.writeInt(PARTITIONS);
            for (int partition = 0; partition < PARTITIONS; partition++) {
                out.writeShort(0); // no error
                out.writeInt(partition);
                out.writeInt(NODE); // the leader
                for (int list = 0; list < 2; list++) { // replicas, in-sync replicas
                    out.writeInt(1);
                    out.writeInt(NODE);
                }
                out.writeInt(0); // no replica is offline
            }
        }
    }

    /** Writes the response, and returns whether the client waits for one. */
    private static boolean produce(Request request, DataOutputStream out) throws IOException {
        request.readText(); // the id of a transaction
        boolean answered = request.readShort() != 0; // acks
        request.readInt(); // timeout
        int topics = request.readInt();
        out.writeInt(topics);
        for (int topic = 0; topic < topics; topic++) {
            out.writeUTF(request.readText());
            int partitions = request.readInt();
            out.writeInt(partitions);
            for (int partition = 0; partition < partitions; partition++) {
                out.writeInt(request.readInt());
                request.skip(request.readInt());
                out.writeShort(0); // no error
                out.writeLong(0); // offset
                out.writeLong(-1); // time of the append
                out.writeLong(0); // first offset of the partition
            }
        }
        out.writeInt(0); // not throttled
        return answered;
    }

    /** The header of a request, and its body as far as it has been read. */
    private static final class Request {
        final short key;
        final short version;
        final int correlation;
        private final DataInputStream in;
        private int left;

        Request(DataInputStream in) throws IOException {
            this.in = in;
            left = in.readInt();
            key = readShort();
            version = readShort();
            correlation = readInt();
            readText(); // the client's id
        }

        short readShort() throws IOException {
            left -= Short.BYTES;
            return in.readShort();
        }

        int readInt() throws IOException {
            left -= Integer.BYTES;
            return in.readInt();
        }

        String readText() throws IOException {
            byte[] bytes = new byte[Math.max(0, readShort())];
            in.readFully(bytes);
            left -= bytes.length;
            return new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
        }

        void skip(int bytes) throws IOException {
            in.skipNBytes(Math.max(0, bytes));
            left -= Math.max(0, bytes);
        }

        void skipRest() throws IOException {
            skip(left);
        }
    }
}
