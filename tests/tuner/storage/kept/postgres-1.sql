--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: kafka_tuner; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA kafka_tuner;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: attachments; Type: TABLE; Schema: kafka_tuner; Owner: -
--

CREATE TABLE kafka_tuner.attachments (
    study integer NOT NULL,
    record_bytes text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY kafka_tuner.attachments ALTER COLUMN body SET STORAGE EXTERNAL;


--
-- Name: facts; Type: TABLE; Schema: kafka_tuner; Owner: -
--

CREATE TABLE kafka_tuner.facts (
    study integer NOT NULL,
    name text NOT NULL,
    body text NOT NULL
);


--
-- Name: progress; Type: TABLE; Schema: kafka_tuner; Owner: -
--

CREATE TABLE kafka_tuner.progress (
    study integer NOT NULL,
    told_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    body text NOT NULL
);


--
-- Name: schema_version; Type: TABLE; Schema: kafka_tuner; Owner: -
--

CREATE TABLE kafka_tuner.schema_version (
    version integer NOT NULL,
    about text NOT NULL,
    release text NOT NULL,
    migrated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: studies; Type: TABLE; Schema: kafka_tuner; Owner: -
--

CREATE TABLE kafka_tuner.studies (
    id integer NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    study_file text DEFAULT ''::text NOT NULL
);


--
-- Name: studies_id_seq; Type: SEQUENCE; Schema: kafka_tuner; Owner: -
--

ALTER TABLE kafka_tuner.studies ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME kafka_tuner.studies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: trials; Type: TABLE; Schema: kafka_tuner; Owner: -
--

CREATE TABLE kafka_tuner.trials (
    sequence bigint NOT NULL,
    study integer NOT NULL,
    record_bytes text NOT NULL,
    number integer NOT NULL,
    kept_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    body text NOT NULL
);


--
-- Name: trials_sequence_seq; Type: SEQUENCE; Schema: kafka_tuner; Owner: -
--

ALTER TABLE kafka_tuner.trials ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME kafka_tuner.trials_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Data for Name: attachments; Type: TABLE DATA; Schema: kafka_tuner; Owner: -
--

COPY kafka_tuner.attachments (study, record_bytes, number, name, body) FROM stdin;
1	1000	0	saturated	\\x1f8b08009324026b00ffc5565b53db3814fe2b9ebc964d7d97bd33fb002c90922e10082db4d3f128b612abbec84872d2d0e1bfef9164270ecb74f6ad7980e47c4747e77ce7a69f2391e6a4c2c99a7041593dfad3728eac5141eb0cbe8e2a8245cb49456a390271caea255d01f0739496540941a7a40b9e15785960a5b2a4f58af08653037a69eac738cb9618e11045ae5259e3b22542597979819f1bc68b92e14c9be524653c4b165ba935468e6ddbea4c41b63ba1ad3da91a4e84a00b5a52b94d389694296c1c00da602e29086aa5ee818093a6a4a9d2e923dc605eb54da2149cb1b2d8859a6991ab459d572381650b1710e588fa9f182f45d210aed5ebb62c011384287d5b45c5385dd15ac7b4223581638c6b5bb46a4bb091693e358903ee4735ab89415a21c97f4f48d6d05449d50f21214ef018cb5ed2e0ad723a7986a4ec3881f8944759ab05f520c02e0ef81d076164877d7276541b31e4a0a348729a8a41a2f614f828f26dcfa82d86d23188159710419d6e13a0b94e2aed82138e43c7779c68003781dda3c138b2d1108a7bc877c681171c40410fc563cff70ea0b883427f8cec57508f45ded839b058e11f1d14a33172951f1bca3b6274787ba20cc576e4b84e8c020809d98eb2b5e0ac00c5b469c1943e532db46ee0457ee884918ade77c397c1bd5424254b71097a4b5c0ab28734eb6d4d75ae5b61dab1d55de643824c05d78657303c36bcc2ad2994182d4dc38da03f0cb9c0ad4e963d8e0da5c0682f080c9340642f890d81c8de4b62c39bd31d730c574095a9b63cd3c53bf970373f3f86cfd5a55f4f9cbbbb4d78facfc989fcf2b82a67f2c3d9f7bbe7b45d7f987dfcee3e7aec9893d347ef414ce38b781dc8ea327ad84ccff2eb225dac6f9877cde5e9b1eb3dbfbf7844ef50c4f2f5cd939fced1c5c5d9f17c31dbcc9f7ecc3f3fcfaa4f4176cfa6e78dfc7b7a7a767f7e5e90d9f6fa72169f6cd8975b1cde16b7135acca657d3e9cd678470519e83f213fd51cd8262f1b912eb787239fff4fee18ccd3ee2ab4bfcc8431c4fde7d12db7971556feac96d715508320dd9aa6697fef1dc76aeedaa3c3909a277e7e1d9290fc422c47727e4ea51c8e7abc9f6fd9dbf593cb4f72ef7f07d39718f27b7e8fbf1897f232ea3b3bf742bb715d01585a11f00cdae6250903a4b32526295fa7ec2e0aa29c960dad9b68b22640776e02248050ae3be2e4cbe735c673021d85acf12c7f702d7562a382d6ab62949b6d2236b0f488e6b5151295fc9b9eafdddf81530cd5e29804585fea1862bcd48d5306916445fc78281e71b4ecd5893bc55c22586d2d4a35f858c579c903d98d1e59270287e7defd76fc34681ad95167b6220be8ca652c7bc80f0f5dc360da8e85d9014b742991e3963c7e2e409369014169616b624ad88b5c1e058662d19b7a8b43639b865c99c5866445b39ceac0a62b624b3546246873dbb6895a7c33c6d45523399c3364cd832d92d4e4dc68be653b096a75d5b2a93dda8d8e7d6757d3770dcc08d5cd7466e84baa20045e01712bbd3ed6ecd38a6f5819103e0ed43dd0e923927b0385e79e04141b97ee0fb51ec847a0a1eaaffd22410bef3149605196cca8633085de8eb7ac81ec3508c7d0fd9c8731cd70bd43aca99906f4564e4dd4955728361bb37883cd85d3e0c5adb0b1c188b7bbd37c2ed2c1f2abc1d604da47ab52425ad54d5bc866137120a15f926aeeb3c95740dcf169d7b284558244b8006cc47711c45b61fa1308a43d81170c8e8ad38dbc87c38017a284bf6eb5c3d9bec01d2ef7323eff739d4c4b2a4ab5c267d432815d8845e18381e2cb12046b1dec1c0069312fab712bb4bf7fb1044e06480109c500c6299e60367e2d855732a46905edb87bf3b9d03b782586d15f3898e5e4f9cfd934ed5956a6fcf0cc94ee7ebcf119683e75c9363d3efe6a1373ab27ef56479e3d9f1c6c3e17f650abcdab9e21ebad23f317f8f33de6f77e6db91de1c4d031549302f55fdf7db61090fde3c195417e6350c4f9ddafd13f8c882a16aed5cfff6f22feebbeeb4c00c0000
\.


--
-- Data for Name: facts; Type: TABLE DATA; Schema: kafka_tuner; Owner: -
--

COPY kafka_tuner.facts (study, name, body) FROM stdin;
1	study_id	"6eb1c303b91c4f9d93dd3dfb94b44348"
1	started_at	"2026-11-21T23:09:06+00:00"
1	name	"small"
1	record_sizes	["1000"]
1	objectives	["mb_per_s", "latency_p99_ms"]
1	constraints	[]
1	target	"embedded"
1	method	"bayesian"
1	seed	7
1	trials_per_size	6
1	tracking	{"uri": null, "experiment": null, "enabled": false}
1	question	{"target": [{"bootstrap": null, "container": null, "brokers": 1, "topic": null, "like": null}], "workload": {"key_bytes": 0, "compressibility_ratio": 0.5, "partitions": 3, "replication": 1, "producers": 1, "rate_records_per_s": null, "rate_ratio": 0.3, "seed": 0, "saturate": [1.0, 2.0], "paced": [1.0, 2.0]}, "baseline": {}, "space": {}, "durability": "None", "objectives": ["mb_per_s", "latency_p99_ms"], "constraints": [], "search": {"method": "bayesian", "seed": 7, "startup_trials": 4, "baseline_every": 3, "grid_steps": 3}, "executor": "simulated"}
1	limits	{"record_sizes": ["1000"], "trials": 6, "hours": null, "until": null, "max_bytes": null, "confirm": {"baseline": "", "nominees": {}, "first_round": 0, "looks": 0, "rounds": 2, "max_rounds": 2, "width_ratio": 0.1, "ablation_rounds": 0, "both_ways": false, "nominated": 1}}
1	client_version	"simulated"
1	broker_version	"simulated"
1	host	{}
1	cluster	{}
1	rates	{"1000": 143520.9}
1	confirming	{"1000": {"baseline": "3cc49addfa7a6782", "nominees": {"throughput": ["6f8e243965ad82da"], "latency": ["b823825b0b9c7ac8"], "balanced": ["2e72ff66bf614ce3"]}, "first_round": 0, "looks": 0, "rounds": 2, "max_rounds": 2, "width_ratio": 0.1, "ablation_rounds": 0, "both_ways": false}}
1	finished_at	"2026-11-21T23:09:13+00:00"
\.


--
-- Data for Name: progress; Type: TABLE DATA; Schema: kafka_tuner; Owner: -
--

COPY kafka_tuner.progress (study, told_at, body) FROM stdin;
1	2026-11-21 23:09:23.097871+00	{"pid": 1, "state": "finished", "record_bytes": "", "trial": null, "kind": "", "trials": 6, "phase": "", "started_at": "2026-11-21T23:09:07+00:00", "updated_at": "2026-11-21T23:09:13+00:00", "ends_at": null}
\.


--
-- Data for Name: schema_version; Type: TABLE DATA; Schema: kafka_tuner; Owner: -
--

COPY kafka_tuner.schema_version (version, about, release, migrated_at) FROM stdin;
1	studies, their trials and facts	kafka-tuner 0.1.0 (confluent-kafka 2.16.1)	2026-11-21 23:09:22.964445+00
\.


--
-- Data for Name: studies; Type: TABLE DATA; Schema: kafka_tuner; Owner: -
--

COPY kafka_tuner.studies (id, name, created_at, study_file) FROM stdin;
1	kept	2026-11-21 23:09:22.967972+00	study: small\nworkload:\n  record_sizes: [1000]\n
\.


--
-- Data for Name: trials; Type: TABLE DATA; Schema: kafka_tuner; Owner: -
--

COPY kafka_tuner.trials (sequence, study, record_bytes, number, kept_at, body) FROM stdin;
1	1	1000	0	2026-11-21 23:09:22.979731+00	{"record_bytes":"1000","number":0,"kind":"burn-in","state":"complete","values":{},"fingerprint":"3cc49addfa7a6782","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":478403.0,"mb_per_s":478.403,"wire_bytes_per_value_byte":1.0081219756147015,"broker_cpu_ms_per_mb":1.538461686141426,"saturated_latency_mean_ms":216.614118,"saturated_latency_p50_ms":215.807,"saturated_latency_p90_ms":241.535,"saturated_latency_p95_ms":249.343,"saturated_latency_p99_ms":264.703,"saturated_latency_p999_ms":283.135,"saturated_latency_max_ms":297.727,"delivered_ratio":1.0},"objectives":[],"violations":{},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:07.021+00:00","duration_s":0.0582899750006618,"load_s":3.0,"value_bytes":1435209000.0,"round":null,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"mb_per_s":[478.403,478.403]}}
2	1	1000	1	2026-11-21 23:09:22.993966+00	{"record_bytes":"1000","number":1,"kind":"burn-in","state":"complete","values":{},"fingerprint":"3cc49addfa7a6782","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":478403.0,"mb_per_s":478.403,"wire_bytes_per_value_byte":1.0081219756147015,"broker_cpu_ms_per_mb":1.538461686141426,"saturated_latency_mean_ms":216.614118,"saturated_latency_p50_ms":215.807,"saturated_latency_p90_ms":241.535,"saturated_latency_p95_ms":249.343,"saturated_latency_p99_ms":264.703,"saturated_latency_p999_ms":283.135,"saturated_latency_max_ms":297.727,"delivered_ratio":1.0},"objectives":[],"violations":{},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:07.132+00:00","duration_s":0.030781647001276724,"load_s":3.0,"value_bytes":1435209000.0,"round":null,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"mb_per_s":[478.403,478.403]}}
3	1	1000	2	2026-11-21 23:09:22.999824+00	{"record_bytes":"1000","number":2,"kind":"baseline","state":"complete","values":{},"fingerprint":"3cc49addfa7a6782","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":478403.0,"mb_per_s":478.403,"wire_bytes_per_value_byte":1.0081219756147015,"broker_cpu_ms_per_mb":1.538461686141426,"latency_mean_ms":4.940537999999999,"saturated_latency_mean_ms":216.614118,"latency_p50_ms":4.679,"saturated_latency_p50_ms":215.807,"latency_p90_ms":7.123,"saturated_latency_p90_ms":241.535,"latency_p95_ms":8.027,"saturated_latency_p95_ms":249.343,"latency_p99_ms":10.039,"saturated_latency_p99_ms":264.703,"latency_p999_ms":12.895,"saturated_latency_p999_ms":283.135,"latency_max_ms":15.551,"saturated_latency_max_ms":297.727,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[478.403,10.039],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:11.882+00:00","duration_s":0.09960376499657286,"load_s":6.0,"value_bytes":1865772000.0,"round":null,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[10.039,10.039],"mb_per_s":[478.403,478.403]}}
4	1	1000	3	2026-11-21 23:09:23.00369+00	{"record_bytes":"1000","number":3,"kind":"search","state":"complete","values":{"compression.type":"lz4","linger.ms":"0.5"},"fingerprint":"2e72ff66bf614ce3","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":504633.0,"mb_per_s":504.633,"wire_bytes_per_value_byte":0.5534580229592595,"broker_cpu_ms_per_mb":0.9993719176439166,"latency_mean_ms":1.731757,"saturated_latency_mean_ms":205.69447250000002,"latency_p50_ms":1.491,"saturated_latency_p50_ms":204.799,"latency_p90_ms":2.997,"saturated_latency_p90_ms":231.551,"latency_p95_ms":3.651,"saturated_latency_p95_ms":239.743,"latency_p99_ms":5.291,"saturated_latency_p99_ms":255.871,"latency_p999_ms":8.019,"saturated_latency_p999_ms":275.455,"latency_max_ms":10.951,"saturated_latency_max_ms":290.815,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[504.633,5.291],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.059+00:00","duration_s":0.0625540330001968,"load_s":6.0,"value_bytes":1944462000.0,"round":null,"proposal":0,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[5.291,5.291],"mb_per_s":[504.633,504.633]}}
5	1	1000	4	2026-11-21 23:09:23.010369+00	{"record_bytes":"1000","number":4,"kind":"search","state":"complete","values":{"compression.type":"lz4","linger.ms":"20"},"fingerprint":"6f8e243965ad82da","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":525623.0,"mb_per_s":525.623,"wire_bytes_per_value_byte":0.5534580221946148,"broker_cpu_ms_per_mb":0.9993731289491281,"latency_mean_ms":8.477019,"saturated_latency_mean_ms":198.80786799999998,"latency_p50_ms":7.171,"saturated_latency_p50_ms":197.631,"latency_p90_ms":15.007,"saturated_latency_p90_ms":227.839,"latency_p95_ms":18.495,"saturated_latency_p95_ms":237.183,"latency_p99_ms":27.391,"saturated_latency_p99_ms":255.871,"latency_p999_ms":42.527,"saturated_latency_p999_ms":278.527,"latency_max_ms":59.135,"saturated_latency_max_ms":296.703,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[525.623,27.391],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.183+00:00","duration_s":0.04852428999947733,"load_s":6.0,"value_bytes":2007432000.0,"round":null,"proposal":1,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[27.391,27.391],"mb_per_s":[525.623,525.623]}}
6	1	1000	5	2026-11-21 23:09:23.011525+00	{"record_bytes":"1000","number":5,"kind":"baseline","state":"complete","values":{},"fingerprint":"3cc49addfa7a6782","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":478403.0,"mb_per_s":478.403,"wire_bytes_per_value_byte":1.0081219756147015,"broker_cpu_ms_per_mb":1.538461686141426,"latency_mean_ms":4.940537999999999,"saturated_latency_mean_ms":216.614118,"latency_p50_ms":4.679,"saturated_latency_p50_ms":215.807,"latency_p90_ms":7.123,"saturated_latency_p90_ms":241.535,"latency_p95_ms":8.027,"saturated_latency_p95_ms":249.343,"latency_p99_ms":10.039,"saturated_latency_p99_ms":264.703,"latency_p999_ms":12.895,"saturated_latency_p999_ms":283.135,"latency_max_ms":15.551,"saturated_latency_max_ms":297.727,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[478.403,10.039],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.291+00:00","duration_s":0.04010882000147831,"load_s":6.0,"value_bytes":1865772000.0,"round":null,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[10.039,10.039],"mb_per_s":[478.403,478.403]}}
7	1	1000	6	2026-11-21 23:09:23.012439+00	{"record_bytes":"1000","number":6,"kind":"search","state":"complete","values":{"linger.ms":"10","queue.buffering.max.messages":"500000"},"fingerprint":"7fb9cf78887a4124","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":476077.0,"mb_per_s":476.077,"wire_bytes_per_value_byte":1.0081219750166466,"broker_cpu_ms_per_mb":1.5684476220733763,"latency_mean_ms":7.662555,"saturated_latency_mean_ms":1059.0116905,"latency_p50_ms":7.159,"saturated_latency_p50_ms":1056.767,"latency_p90_ms":11.455,"saturated_latency_p90_ms":1151.999,"latency_p95_ms":13.087,"saturated_latency_p95_ms":1180.671,"latency_p99_ms":16.799,"saturated_latency_p99_ms":1235.967,"latency_p999_ms":22.223,"saturated_latency_p999_ms":1301.503,"latency_max_ms":27.407,"saturated_latency_max_ms":1352.703,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[476.077,16.799],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.384+00:00","duration_s":0.07175742899926263,"load_s":6.0,"value_bytes":1858794000.0,"round":null,"proposal":2,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[16.799,16.799],"mb_per_s":[476.077,476.077]}}
8	1	1000	7	2026-11-21 23:09:23.023755+00	{"record_bytes":"1000","number":7,"kind":"search","state":"complete","values":{"linger.ms":"1"},"fingerprint":"b823825b0b9c7ac8","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":470145.0,"mb_per_s":470.145,"wire_bytes_per_value_byte":1.0081219751353305,"broker_cpu_ms_per_mb":1.5384606550423314,"latency_mean_ms":1.94519,"saturated_latency_mean_ms":219.29181599999998,"latency_p50_ms":1.746,"saturated_latency_p50_ms":218.623,"latency_p90_ms":3.157,"saturated_latency_p90_ms":243.199,"latency_p95_ms":3.735,"saturated_latency_p95_ms":250.623,"latency_p99_ms":5.119,"saturated_latency_p99_ms":265.215,"latency_p999_ms":7.283,"saturated_latency_p999_ms":282.623,"latency_max_ms":9.487,"saturated_latency_max_ms":296.447,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[470.145,5.119],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.536+00:00","duration_s":0.06794414999967557,"load_s":6.0,"value_bytes":1840998000.0,"round":null,"proposal":3,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[5.119,5.119],"mb_per_s":[470.145,470.145]}}
9	1	1000	8	2026-11-21 23:09:23.024809+00	{"record_bytes":"1000","number":8,"kind":"confirm","state":"complete","values":{"linger.ms":"1"},"fingerprint":"b823825b0b9c7ac8","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":470145.0,"mb_per_s":470.145,"wire_bytes_per_value_byte":1.0081219751353305,"broker_cpu_ms_per_mb":1.5384606550423314,"latency_mean_ms":1.94519,"saturated_latency_mean_ms":219.29181599999998,"latency_p50_ms":1.746,"saturated_latency_p50_ms":218.623,"latency_p90_ms":3.157,"saturated_latency_p90_ms":243.199,"latency_p95_ms":3.735,"saturated_latency_p95_ms":250.623,"latency_p99_ms":5.119,"saturated_latency_p99_ms":265.215,"latency_p999_ms":7.283,"saturated_latency_p999_ms":282.623,"latency_max_ms":9.487,"saturated_latency_max_ms":296.447,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[470.145,5.119],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.695+00:00","duration_s":0.023242570001457352,"load_s":6.0,"value_bytes":1840998000.0,"round":0,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[5.119,5.119],"mb_per_s":[470.145,470.145]}}
10	1	1000	9	2026-11-21 23:09:23.025597+00	{"record_bytes":"1000","number":9,"kind":"confirm","state":"complete","values":{"compression.type":"lz4","linger.ms":"0.5"},"fingerprint":"2e72ff66bf614ce3","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":504633.0,"mb_per_s":504.633,"wire_bytes_per_value_byte":0.5534580229592595,"broker_cpu_ms_per_mb":0.9993719176439166,"latency_mean_ms":1.731757,"saturated_latency_mean_ms":205.69447250000002,"latency_p50_ms":1.491,"saturated_latency_p50_ms":204.799,"latency_p90_ms":2.997,"saturated_latency_p90_ms":231.551,"latency_p95_ms":3.651,"saturated_latency_p95_ms":239.743,"latency_p99_ms":5.291,"saturated_latency_p99_ms":255.871,"latency_p999_ms":8.019,"saturated_latency_p999_ms":275.455,"latency_max_ms":10.951,"saturated_latency_max_ms":290.815,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[504.633,5.291],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.753+00:00","duration_s":0.02691548800066812,"load_s":6.0,"value_bytes":1944462000.0,"round":0,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[5.291,5.291],"mb_per_s":[504.633,504.633]}}
11	1	1000	10	2026-11-21 23:09:23.02827+00	{"record_bytes":"1000","number":10,"kind":"confirm","state":"complete","values":{"compression.type":"lz4","linger.ms":"20"},"fingerprint":"6f8e243965ad82da","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":525623.0,"mb_per_s":525.623,"wire_bytes_per_value_byte":0.5534580221946148,"broker_cpu_ms_per_mb":0.9993731289491281,"latency_mean_ms":8.477019,"saturated_latency_mean_ms":198.80786799999998,"latency_p50_ms":7.171,"saturated_latency_p50_ms":197.631,"latency_p90_ms":15.007,"saturated_latency_p90_ms":227.839,"latency_p95_ms":18.495,"saturated_latency_p95_ms":237.183,"latency_p99_ms":27.391,"saturated_latency_p99_ms":255.871,"latency_p999_ms":42.527,"saturated_latency_p999_ms":278.527,"latency_max_ms":59.135,"saturated_latency_max_ms":296.703,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[525.623,27.391],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.812+00:00","duration_s":0.04610966499967617,"load_s":6.0,"value_bytes":2007432000.0,"round":0,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[27.391,27.391],"mb_per_s":[525.623,525.623]}}
12	1	1000	11	2026-11-21 23:09:23.031456+00	{"record_bytes":"1000","number":11,"kind":"confirm","state":"complete","values":{},"fingerprint":"3cc49addfa7a6782","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":478403.0,"mb_per_s":478.403,"wire_bytes_per_value_byte":1.0081219756147015,"broker_cpu_ms_per_mb":1.538461686141426,"latency_mean_ms":4.940537999999999,"saturated_latency_mean_ms":216.614118,"latency_p50_ms":4.679,"saturated_latency_p50_ms":215.807,"latency_p90_ms":7.123,"saturated_latency_p90_ms":241.535,"latency_p95_ms":8.027,"saturated_latency_p95_ms":249.343,"latency_p99_ms":10.039,"saturated_latency_p99_ms":264.703,"latency_p999_ms":12.895,"saturated_latency_p999_ms":283.135,"latency_max_ms":15.551,"saturated_latency_max_ms":297.727,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[478.403,10.039],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.914+00:00","duration_s":0.02185413100232836,"load_s":6.0,"value_bytes":1865772000.0,"round":0,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[10.039,10.039],"mb_per_s":[478.403,478.403]}}
13	1	1000	12	2026-11-21 23:09:23.032253+00	{"record_bytes":"1000","number":12,"kind":"confirm","state":"complete","values":{"compression.type":"lz4","linger.ms":"20"},"fingerprint":"6f8e243965ad82da","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":525623.0,"mb_per_s":525.623,"wire_bytes_per_value_byte":0.5534580221946148,"broker_cpu_ms_per_mb":0.9993731289491281,"latency_mean_ms":8.477019,"saturated_latency_mean_ms":198.80786799999998,"latency_p50_ms":7.171,"saturated_latency_p50_ms":197.631,"latency_p90_ms":15.007,"saturated_latency_p90_ms":227.839,"latency_p95_ms":18.495,"saturated_latency_p95_ms":237.183,"latency_p99_ms":27.391,"saturated_latency_p99_ms":255.871,"latency_p999_ms":42.527,"saturated_latency_p999_ms":278.527,"latency_max_ms":59.135,"saturated_latency_max_ms":296.703,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[525.623,27.391],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:12.997+00:00","duration_s":0.038993031997961225,"load_s":6.0,"value_bytes":2007432000.0,"round":1,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[27.391,27.391],"mb_per_s":[525.623,525.623]}}
14	1	1000	13	2026-11-21 23:09:23.032834+00	{"record_bytes":"1000","number":13,"kind":"confirm","state":"complete","values":{},"fingerprint":"3cc49addfa7a6782","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":478403.0,"mb_per_s":478.403,"wire_bytes_per_value_byte":1.0081219756147015,"broker_cpu_ms_per_mb":1.538461686141426,"latency_mean_ms":4.940537999999999,"saturated_latency_mean_ms":216.614118,"latency_p50_ms":4.679,"saturated_latency_p50_ms":215.807,"latency_p90_ms":7.123,"saturated_latency_p90_ms":241.535,"latency_p95_ms":8.027,"saturated_latency_p95_ms":249.343,"latency_p99_ms":10.039,"saturated_latency_p99_ms":264.703,"latency_p999_ms":12.895,"saturated_latency_p999_ms":283.135,"latency_max_ms":15.551,"saturated_latency_max_ms":297.727,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[478.403,10.039],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:13.084+00:00","duration_s":0.0422267229987483,"load_s":6.0,"value_bytes":1865772000.0,"round":1,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[10.039,10.039],"mb_per_s":[478.403,478.403]}}
15	1	1000	14	2026-11-21 23:09:23.039683+00	{"record_bytes":"1000","number":14,"kind":"confirm","state":"complete","values":{"compression.type":"lz4","linger.ms":"0.5"},"fingerprint":"2e72ff66bf614ce3","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":504633.0,"mb_per_s":504.633,"wire_bytes_per_value_byte":0.5534580229592595,"broker_cpu_ms_per_mb":0.9993719176439166,"latency_mean_ms":1.731757,"saturated_latency_mean_ms":205.69447250000002,"latency_p50_ms":1.491,"saturated_latency_p50_ms":204.799,"latency_p90_ms":2.997,"saturated_latency_p90_ms":231.551,"latency_p95_ms":3.651,"saturated_latency_p95_ms":239.743,"latency_p99_ms":5.291,"saturated_latency_p99_ms":255.871,"latency_p999_ms":8.019,"saturated_latency_p999_ms":275.455,"latency_max_ms":10.951,"saturated_latency_max_ms":290.815,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[504.633,5.291],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:13.174+00:00","duration_s":0.055884543999127345,"load_s":6.0,"value_bytes":1944462000.0,"round":1,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[5.291,5.291],"mb_per_s":[504.633,504.633]}}
16	1	1000	15	2026-11-21 23:09:23.042771+00	{"record_bytes":"1000","number":15,"kind":"confirm","state":"complete","values":{"linger.ms":"1"},"fingerprint":"b823825b0b9c7ac8","guarantee":"acks=all, may reorder on retry","params":{},"metrics":{"records_per_s":470145.0,"mb_per_s":470.145,"wire_bytes_per_value_byte":1.0081219751353305,"broker_cpu_ms_per_mb":1.5384606550423314,"latency_mean_ms":1.94519,"saturated_latency_mean_ms":219.29181599999998,"latency_p50_ms":1.746,"saturated_latency_p50_ms":218.623,"latency_p90_ms":3.157,"saturated_latency_p90_ms":243.199,"latency_p95_ms":3.735,"saturated_latency_p95_ms":250.623,"latency_p99_ms":5.119,"saturated_latency_p99_ms":265.215,"latency_p999_ms":7.283,"saturated_latency_p999_ms":282.623,"latency_max_ms":9.487,"saturated_latency_max_ms":296.447,"delivered_ratio":1.0,"held_rate_ratio":1.0000006967626318},"objectives":[470.145,5.119],"violations":{"delivered_ratio >= 1":0.0,"held_rate_ratio >= 0.95":-0.05263231238171775},"verdict":"broker","because":"1.1 requests at a time waited for it while the client had more to send","flagged":false,"error":"","warnings":["simulated, not measured"],"worker":"vm/31152","attempts":1,"started_at":"2026-11-21T23:09:13.307+00:00","duration_s":0.03883621299974038,"load_s":6.0,"value_bytes":1840998000.0,"round":1,"proposal":null,"sampler_state":{},"stopped_early":"","saved_s":0.0,"course":{"latency_p99_ms":[5.119,5.119],"mb_per_s":[470.145,470.145]}}
\.


--
-- Name: studies_id_seq; Type: SEQUENCE SET; Schema: kafka_tuner; Owner: -
--

SELECT pg_catalog.setval('kafka_tuner.studies_id_seq', 1, true);


--
-- Name: trials_sequence_seq; Type: SEQUENCE SET; Schema: kafka_tuner; Owner: -
--

SELECT pg_catalog.setval('kafka_tuner.trials_sequence_seq', 16, true);


--
-- Name: attachments attachments_pkey; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.attachments
    ADD CONSTRAINT attachments_pkey PRIMARY KEY (study, record_bytes, number, name);


--
-- Name: facts facts_pkey; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (study, name);


--
-- Name: progress progress_pkey; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.progress
    ADD CONSTRAINT progress_pkey PRIMARY KEY (study);


--
-- Name: schema_version schema_version_pkey; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);


--
-- Name: studies studies_name_key; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.studies
    ADD CONSTRAINT studies_name_key UNIQUE (name);


--
-- Name: studies studies_pkey; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.studies
    ADD CONSTRAINT studies_pkey PRIMARY KEY (id);


--
-- Name: trials trials_pkey; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.trials
    ADD CONSTRAINT trials_pkey PRIMARY KEY (study, sequence);


--
-- Name: trials trials_study_record_bytes_number_key; Type: CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.trials
    ADD CONSTRAINT trials_study_record_bytes_number_key UNIQUE (study, record_bytes, number);


--
-- Name: attachments attachments_study_record_bytes_number_fkey; Type: FK CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.attachments
    ADD CONSTRAINT attachments_study_record_bytes_number_fkey FOREIGN KEY (study, record_bytes, number) REFERENCES kafka_tuner.trials(study, record_bytes, number) ON DELETE CASCADE;


--
-- Name: facts facts_study_fkey; Type: FK CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.facts
    ADD CONSTRAINT facts_study_fkey FOREIGN KEY (study) REFERENCES kafka_tuner.studies(id) ON DELETE CASCADE;


--
-- Name: progress progress_study_fkey; Type: FK CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.progress
    ADD CONSTRAINT progress_study_fkey FOREIGN KEY (study) REFERENCES kafka_tuner.studies(id) ON DELETE CASCADE;


--
-- Name: trials trials_study_fkey; Type: FK CONSTRAINT; Schema: kafka_tuner; Owner: -
--

ALTER TABLE ONLY kafka_tuner.trials
    ADD CONSTRAINT trials_study_fkey FOREIGN KEY (study) REFERENCES kafka_tuner.studies(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


