# For `cmake --install build --prefix /usr`, and for the Debian package: `cpack -G DEB` in the build folder.
# deploy/release.sh does both from a clean tree.
include(GNUInstallDirs)

install(TARGETS ms-scheduler ms-worker ms-ring ms-ctl RUNTIME DESTINATION bin)  # ms-exec, ms-pmix: with their gateways
install(FILES python/muster_training.py DESTINATION lib/muster/python)  # ms-worker looks there
install(DIRECTORY python/muster DESTINATION lib/muster/python PATTERN __pycache__ EXCLUDE)

# systemd looks in lib, even if the machine's library folder has another name.
install(FILES deploy/systemd/ms-scheduler.service deploy/systemd/ms-worker@.service DESTINATION lib/systemd/system)
install(FILES deploy/systemd/muster.sysusers DESTINATION lib/sysusers.d RENAME muster.conf)
install(FILES deploy/systemd/muster.tmpfiles DESTINATION lib/tmpfiles.d RENAME muster.conf)

set(MUSTER_DOC ${CMAKE_INSTALL_DATADIR}/doc/muster)
install(FILES README.md CHANGELOG.md deploy/systemd/scheduler.conf deploy/systemd/job.env DESTINATION ${MUSTER_DOC})
install(DIRECTORY docs/ DESTINATION ${MUSTER_DOC} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples deploy/monitoring deploy/kubernetes deploy/container DESTINATION ${MUSTER_DOC}
        PATTERN check.py EXCLUDE)
install(FILES deploy/debian/copyright DESTINATION ${MUSTER_DOC})

# Man pages and completions come from the output of the programs, which must run here: a cross build leaves them out.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  set(MUSTER_MADE ${CMAKE_BINARY_DIR}/man)
  set(MUSTER_PAGES ${MUSTER_MADE}/ms-scheduler.1.gz ${MUSTER_MADE}/ms-worker.1.gz ${MUSTER_MADE}/ms-ctl.1.gz)
  set(MUSTER_COMPLETIONS ${MUSTER_MADE}/ms-ctl.bash ${MUSTER_MADE}/ms-ctl.zsh ${MUSTER_MADE}/ms-ctl.fish)
  add_custom_command(OUTPUT ${MUSTER_PAGES} ${MUSTER_MADE}/changelog.gz
    COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/deploy/man/make_man.py --into ${MUSTER_MADE}
            $<TARGET_FILE:ms-scheduler> $<TARGET_FILE:ms-worker> $<TARGET_FILE:ms-ctl>
    COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/deploy/debian/changelog.py ${PROJECT_VERSION} ${MUSTER_MADE}/changelog
    COMMAND gzip -9nf ${MUSTER_MADE}/ms-scheduler.1 ${MUSTER_MADE}/ms-worker.1 ${MUSTER_MADE}/ms-ctl.1 ${MUSTER_MADE}/changelog
    DEPENDS ms-scheduler ms-worker ms-ctl deploy/man/make_man.py deploy/debian/changelog.py)
  foreach(shell bash zsh fish)
    add_custom_command(OUTPUT ${MUSTER_MADE}/ms-ctl.${shell}
      COMMAND ms-ctl completion ${shell} > ${MUSTER_MADE}/ms-ctl.${shell} DEPENDS ms-ctl)
  endforeach()
  add_custom_target(man ALL DEPENDS ${MUSTER_PAGES} ${MUSTER_COMPLETIONS})
  install(FILES ${MUSTER_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${MUSTER_MADE}/changelog.gz DESTINATION ${MUSTER_DOC})
  foreach(program ms-scheduler ms-worker ms-ctl)
    install(FILES ${MUSTER_MADE}/ms-ctl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME ${program})
  endforeach()
  install(FILES ${MUSTER_MADE}/ms-ctl.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _ms-ctl)
  install(FILES ${MUSTER_MADE}/ms-ctl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME muster)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Muster's maintainers <muster@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "starts, watches and restarts distributed training jobs")
set(CPACK_PACKAGE_DESCRIPTION "ms-worker joins a training job on each node, starts its processes with\ntheir ranks, and stays with them; ms-scheduler brings the nodes together;\nms-ctl shows and controls jobs. For MindSpore, PyTorch, Horovod, TensorFlow\nand MPI programs, with mutual TLS if wanted.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, py-spy")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/deploy/debian/postinst ${CMAKE_SOURCE_DIR}/deploy/debian/prerm ${CMAKE_SOURCE_DIR}/deploy/debian/postrm)
include(CPack)
