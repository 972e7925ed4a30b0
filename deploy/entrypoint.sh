#!/bin/sh
# The entry point of the image. tini is process 1: it forwards signals, and reaps dead workers.
#
#   driver ARGUMENT...   a driver: spark-submit in client mode with these arguments
#   executor             an executor, as Spark on Kubernetes starts it
#   COMMAND ARGUMENT...  any other command, such as `kstreams serve`
set -eu

case "${1:-}" in
driver)
    shift
    set -- "$SPARK_HOME/bin/spark-submit" --deploy-mode client "$@"
    ;;
executor)
    # The driver passes the executor's settings in these variables, and the JVM's options in
    # SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, ...
    set -- "$JAVA_HOME/bin/java"
    number=0
    while eval "[ -n \"\${SPARK_JAVA_OPT_$number-}\" ]"; do
        eval "set -- \"\$@\" \"\$SPARK_JAVA_OPT_$number\""
        number=$((number + 1))
    done
    set -- "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
        -cp "${SPARK_CONF_DIR:+$SPARK_CONF_DIR:}$SPARK_HOME/jars/*" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "$SPARK_DRIVER_URL" \
        --executor-id "$SPARK_EXECUTOR_ID" \
        --cores "$SPARK_EXECUTOR_CORES" \
        --app-id "$SPARK_APPLICATION_ID" \
        --hostname "$SPARK_EXECUTOR_POD_IP" \
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
        --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
esac
exec tini -s -- "$@"
