# FOLDER HIDDEN KEPT COMMAND...: in a new mount namespace, make the machine of a folder, and
# become the command. HIDDEN and KEPT are lists of paths, one a line; HIDDEN has the project's
# folder, HOME and /tmp.
set -eu
folder=$1 hidden=$2 kept=$3
shift 3
IFS='
'
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir /mnt/machine /mnt/kept
mount --bind "$folder" /mnt/machine
number=0
for path in $kept; do
    number=$((number + 1))
    if [ -d "$path" ]; then mkdir "/mnt/kept/$number"; else : > "/mnt/kept/$number"; fi
    mount --bind "$path" "/mnt/kept/$number"
done
for path in $hidden; do
    mount -t tmpfs none "$path"
done
mkdir -p /tmp
mount --bind /mnt/machine/tmp /tmp
mkdir -p "$HOME" # which may lie in /tmp
mount --bind /mnt/machine/home "$HOME"
number=0
for path in $kept; do
    number=$((number + 1))
    if [ -d "/mnt/kept/$number" ]; then mkdir -p "$path"; else mkdir -p "$(dirname "$path")"; : > "$path"; fi
    mount --bind "/mnt/kept/$number" "$path"
    mount -o remount,bind,ro "$path"
done
umount -l /mnt
cd "$HOME"
exec "$@"
