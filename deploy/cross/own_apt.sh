# Source this file. It runs apt for another processor, or for sources, in a folder of its own. This machine's packages
# and lists stay as they are.
#
#   own_apt ARCHITECTURE WORDS...     runs apt-get, which downloads to $own_apt_folder/archives

own_apt_folder=$(mktemp -d -t muster-apt.XXXXXX)
mkdir -p "$own_apt_folder"/{lists/partial,archives/partial}
touch "$own_apt_folder/status"

own_apt() {
  local architecture=$1
  shift
  apt-get -qq -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" \
    -o "Dir::State::lists=$own_apt_folder/lists" -o "Dir::State::status=$own_apt_folder/status" \
    -o "Dir::State::extended_states=$own_apt_folder/extended" -o "Dir::Cache=$own_apt_folder" \
    -o "Dir::Cache::archives=$own_apt_folder/archives" -o Debug::NoLocking=1 -o APT::Sandbox::User= \
    -o DPkg::Post-Invoke= -o APT::Keep-Downloaded-Packages=1 -o APT::Install-Recommends=0 "$@"
}
